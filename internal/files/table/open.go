// The choice of a reader for a file, by its name and contents.

package table

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/internal/files/npy"
	"github.com/iokl/iokl/internal/files/zipfile"
)

// source is an open file: a stream, and random access where the file as it lies
// on the disk is the data.
type source struct {
	name  string // for messages
	r     *bufio.Reader
	at    io.ReaderAt // nil for pipes and compressed files
	size  int64       // -1 when not known
	close func() error
	held  memory.Growing // by what is read, until close

	part     string // of the file that is read: a sheet of a workbook, an array or file of an archive
	npy      bool   // it is an array of an archive
	rowsOnly bool   // rows are no lines: the text was made from another format
}

// Open opens a table: a .csv (.tsv, .txt), .json (.jsonl, .ndjson), .npy or Parquet file, FILE.npz:NAME, a workbook
// whose format is registered or FILE.xlsx:SHEET, any of them gzipped with .gz at the end, or in an archive as its only
// file or as FILE.zip:NAME; "-" is CSV on standard input. What a file is called decides how it is read; of other names
// the first bytes do. Without opt.Schema cells that are no plain numbers are NaN, and counted; see [Read] and [Learn].
func Open(name string, opt Options) (Reader, error) {
	s, err := openSource(name, opt.Stdin)
	if err != nil {
		return nil, err
	}
	r, err := s.reader(opt)
	if err != nil {
		_ = s.close()
		return nil, err
	}
	return r, nil
}

// chosen hands out the columns of r that opt chooses.
type chosen struct {
	Reader
	use   []int
	block blas.General
}

// choosing puts the choice of columns in front of a reader that knows none.
func choosing(r Reader, opt Options) (Reader, error) {
	if opt.Columns == nil {
		return r, nil
	}
	use, err := opt.choose(r.Names(), r.Cols())
	return &chosen{Reader: r, use: use}, err
}

func (c *chosen) Names() []string { return namesAt(c.Reader.Names(), c.use) }
func (c *chosen) Cols() int       { return len(c.use) }

func (c *chosen) Read(dst blas.General) (int, error) {
	if c.block.Rows < dst.Rows {
		c.block = blas.NewGeneral(dst.Rows, c.Reader.Cols())
	}
	n, err := c.Reader.Read(blas.View(c.block, 0, 0, dst.Rows, c.block.Cols))
	for i := range n {
		from, to := blas.Row(c.block, i), blas.Row(dst, i)
		for k, j := range c.use {
			to[k] = from[j]
		}
	}
	return n, err
}

func (s *source) reader(opt Options) (Reader, error) {
	if kind(s) == ".npy" {
		return newNpyReader(s, opt)
	}
	file, err := s.records(opt, opt.named)
	if err != nil {
		return nil, err
	}
	return newTextReader(s, file, opt)
}

// records opens a file whose cells may be words; named says whether the first record of separated text is its header.
func (s *source) records(opt Options, named func(first []string, below [][]string) bool) (records, error) {
	ext := kind(s)
	if ext == ".parquet" {
		return newParquetRecords(s, opt.Types || opt.Schema != nil)
	}
	var err error
	switch read := sheets[ext]; {
	case ext == ".json":
		named = func([]string, [][]string) bool { return true }
		err = s.jsonRecords()
	case read != nil:
		err = s.workbook(read)
	}
	if err != nil {
		return nil, err
	}
	return newCSVReader(s, named)
}

// ReadStack reads square matrices: a two-dimensional array or table is one, a
// three-dimensional array of shape m×r×c is m of them.
func ReadStack(name string, opt Options) ([]blas.General, error) {
	arr, err := readArray(name)
	if errors.Is(err, errNotArray) {
		t, err := Read(name, opt)
		if err != nil {
			return nil, err
		}
		return []blas.General{t.Data}, nil
	}
	if err != nil {
		return nil, err
	}
	m, r, c := 1, 0, 0
	switch sh := arr.Shape; len(sh) {
	case 2:
		r, c = sh[0], sh[1]
	case 3:
		m, r, c = sh[0], sh[1], sh[2]
	default:
		return nil, bad("%s: has %d dimensions, want one matrix (2) or a stack of matrices (3)", name, len(sh))
	}
	if m*r*c == 0 {
		return nil, bad("%s: is empty", name)
	}
	var out []blas.General
	for j := range m {
		a := blas.General{Rows: r, Cols: c, Stride: c, Data: arr.Data[j*r*c : (j+1)*r*c]}
		if _, err := finiteRows(name, a, 0, new(Options)); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// errNotArray says that a file is no .npy and no member of a .npz.
var errNotArray = errors.New("no array file")

// readArray reads an array of any number of dimensions from .npy or FILE.npz:NAME.
func readArray(name string) (*npy.Array, error) {
	if name == "-" {
		return nil, errNotArray
	}
	s, err := openSource(name, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.close() }()
	if kind(s) != ".npy" {
		return nil, errNotArray
	}
	arr, err := npy.Read(s.r, s.size)
	if err == nil {
		err = s.end()
	}
	return arr, named(name, err)
}

// SplitMember takes the names FILE.npz:NAME, FILE.zip:NAME and FILE.xlsx:SHEET apart; of other names file is the whole.
func SplitMember(name string) (file, member string, ok bool) {
	for _, ext := range append([]string{".npz", ".zip"}, slices.Sorted(maps.Keys(sheets))...) {
		if i := strings.LastIndex(name, ext+":"); i >= 0 {
			return name[:i+len(ext)], name[i+len(ext)+1:], true
		}
	}
	return name, "", false
}

// named puts the file before what was found in reading it.
func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return bad("%s: %v", name, err)
}

// end reads what is left behind an array to its end, where the checksums of what is packed are verified.
func (s *source) end() error {
	n, err := io.Copy(io.Discard, s.r)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d bytes follow the array", n)
	}
	return err
}

// flat gives the rows and columns of a table of that shape; one dimension is a column.
func flat(name string, shape []int) (rows, cols int, err error) {
	switch len(shape) {
	case 1:
		rows, cols = shape[0], 1
	case 2:
		rows, cols = shape[0], shape[1]
	default:
		return 0, 0, bad("%s: has %d dimensions where a table has 2", name, len(shape))
	}
	if rows == 0 || cols == 0 {
		return 0, 0, bad("%s: is empty", name)
	}
	return rows, cols, nil
}

// lessMemory is what can be done where reading takes too much memory.
const lessMemory = "allow more (--memory), read fewer columns, or rows in blocks (--stream)"

func newSource(name, part string, r io.Reader, end func() error) *source {
	s := &source{name: name, part: part, r: buffered(r), size: -1, held: *memory.Grow("reading "+name, lessMemory)}
	s.close = func() error {
		s.held.Free()
		return end()
	}
	return s
}

// guard is what is left of s without rows that take more memory than there is.
func (s *source) guard(g memory.Guard) *memory.Guard {
	g.R, g.What, g.Instead = s.r, "a row of "+s.name, "check that its rows end, or "+lessMemory
	end := s.close
	s.close = func() error {
		g.Reset()
		return end()
	}
	return &g
}

func openSource(name string, stdin io.Reader) (*source, error) {
	if name == "-" && stdin == nil {
		return nil, bad("standard input can be read only once, and by one argument")
	}
	name, part, _ := SplitMember(name)
	if stdin != nil {
		if name == "-" {
			name = "standard input"
		}
		s := newSource(name, part, stdin, func() error { return nil })
		return s, s.decode()
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s := newSource(name, part, f, f.Close)
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = bad("%s: is a folder", name)
	}
	if err == nil && info.Mode().IsRegular() {
		s.at, s.size = f, info.Size()
	}
	if err == nil && strings.EqualFold(filepath.Ext(name), ".zip") {
		err = s.unzip("file", "")
	}
	if err == nil {
		err = s.decode()
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return s, nil
}

// lasting is a reader whose first error is that of all later reads. Peek of a bufio.Reader
// forgets one, and a connection that was reset tells of it once.
type lasting struct {
	r   io.Reader
	err error
}

func (l *lasting) Read(b []byte) (n int, err error) {
	if l.err == nil {
		n, l.err = l.r.Read(b)
	}
	return n, l.err
}

func buffered(r io.Reader) *bufio.Reader { return bufio.NewReaderSize(&lasting{r: r}, 1<<16) }

// unzip turns an archive into its only file, or into the one that was named, without the ending of all that count.
func (s *source) unzip(what, ending string) error {
	data, size, err := s.whole()
	if err != nil {
		return err
	}
	z, err := zipfile.Open(data, size)
	if err != nil {
		return bad("%s: no whole %s archive: %v", s.name, filepath.Ext(s.name), err)
	}
	var names []string
	for _, f := range z.File {
		if name, ok := strings.CutSuffix(f.Name, ending); ok && !f.FileInfo().IsDir() {
			names = append(names, name)
		}
	}
	if s.part == "" && len(names) == 1 {
		s.part = names[0]
	}
	at := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == s.part+ending })
	if at < 0 {
		lacks := ""
		if s.part != "" {
			lacks = fmt.Sprintf("no %s %q, it ", what, s.part)
		}
		have := strings.Join(names, ", ")
		return bad("%s: %shas the %ss %s: choose one as %s:NAME", s.name, lacks, what, have, s.name)
	}
	r, err := z.File[at].Open()
	if err != nil {
		return bad("%s: %v", s.name, err)
	}
	s.name, s.part, s.r, s.at, s.size = s.name+":"+s.part, "", buffered(r), nil, -1
	return nil
}

// decode puts readers of gzip and of UTF-16 in front where the first bytes ask for them, and opens an array of a .npz.
func (s *source) decode() error {
	head, _ := s.r.Peek(2)
	if packed := strings.HasSuffix(strings.ToLower(s.name), ".gz"); packed || string(head) == "\x1f\x8b" {
		z, err := gzip.NewReader(s.r)
		if err != nil {
			return bad("%s: not a gzip file: %v", s.name, err)
		}
		s.r, s.at, s.size = buffered(z), nil, -1
	}
	head, _ = s.r.Peek(4)
	order, ok := utf16Order(head)
	if ok {
		text := unicode.UTF16(order, unicode.UseBOM).NewDecoder()
		s.r, s.at, s.size = buffered(transform.NewReader(s.r, text)), nil, -1
	}
	if s.npy = kind(s) == ".npz"; s.npy {
		return s.unzip("array", ".npy")
	}
	return nil
}

// utf16Order reports whether text begins in UTF-16, by its byte order mark or two ASCII letters without one.
func utf16Order(head []byte) (order unicode.Endianness, ok bool) {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return unicode.LittleEndian, true
	}
	letters := func(at int) bool {
		return len(head) == 4 && head[at]|head[at+2] < utf8.RuneSelf && head[at] >= ' ' && head[at+2] > 0 &&
			head[1-at]|head[3-at] == 0
	}
	if letters(1) {
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, letters(0)
}

// whole gives random access to the data, which are read into memory where the file does not hold them as they are.
func (s *source) whole() (at io.ReaderAt, size int64, err error) {
	if s.at != nil {
		return s.at, s.size, nil
	}
	all, err := memory.ReadAll(s.r, "reading "+s.name)
	if err == nil {
		err = s.held.Add(float64(len(all)))
	}
	if err != nil {
		return nil, 0, bad("%s: %w", s.name, err)
	}
	return bytes.NewReader(all), int64(len(all)), nil
}

// kind is the extension that says how to read s, "" for CSV.
func kind(s *source) string {
	if s.npy {
		return ".npy"
	}
	name := strings.TrimSuffix(strings.ToLower(s.name), ".gz")
	switch ext := filepath.Ext(name); ext {
	case ".npy", ".npz", ".parquet", ".json":
		return ext
	case ".pq":
		return ".parquet"
	case ".jsonl", ".ndjson":
		return ".json"
	case ".csv", ".tsv", ".txt":
		return ""
	default:
		if sheets[ext] != nil {
			return ext
		}
	}
	head, _ := s.r.Peek(6)
	switch {
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return ".npy"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return ".npz"
	case bytes.HasPrefix(head, []byte("PAR1")):
		return ".parquet"
	case bytes.HasPrefix(head, []byte("{")), bytes.HasPrefix(head, []byte("[{")), bytes.HasPrefix(head, []byte("[\n")):
		return ".json"
	}
	return ""
}
