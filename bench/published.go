package bench

// published is a table of figures from elsewhere beside ours.
type published struct {
	Title  string
	Head   []string
	Rows   [][]string
	Source string
}

// publishedFor is the table for a case, nil when nobody published comparable figures.
func publishedFor(name string, group []Result) *published {
	if make := publications[name]; make != nil {
		return make(group)
	}
	return nil
}

var publications = map[string]func(group []Result) *published{}
