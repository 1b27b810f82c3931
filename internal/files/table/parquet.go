package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"github.com/iokl/iokl/internal/base/memory"
	"github.com/iokl/iokl/schema"
)

// parquetRecords reads flat columns of a Parquet file. A null is a missing cell.
// Strings and booleans are words and dates are dates where the options take such;
// otherwise booleans are 0 and 1, and strings and dates are refused.
type parquetRecords struct {
	src    *source
	file   *parquet.File
	names  []string  // of all columns in the file
	at     [][]int   // for each leaf of the file, where it goes in a row
	perDay []float64 // for each chosen column that holds dates, how many of its units are a day; 0 for others
	words  []bool    // for each chosen column, that its booleans are words
	typed  bool      // words and dates are taken as such
	group  int       // next row group
	rows   parquet.Rows
	ended  bool // rows has no more
	buf    []parquet.Row
	held   []parquet.Row // of buf, those that are not handed out
	done   int           // rows handed out
}

func newParquetRecords(s *source, typed bool) (*parquetRecords, error) {
	at, size, err := s.whole()
	if err != nil {
		return nil, err
	}
	file, err := openParquet(at, size, &s.held)
	if err == nil {
		err = s.held.Add(pageBytes(at, file.Metadata()))
	}
	if err != nil {
		return nil, bad("%s: not a whole Parquet file: %w", s.name, err)
	}
	p := &parquetRecords{src: s, file: file, buf: make([]parquet.Row, 256), typed: typed}
	for _, f := range file.Schema().Fields() {
		p.names = append(p.names, f.Name())
	}
	if file.NumRows() == 0 || len(p.names) == 0 {
		return nil, bad("%s: is empty", s.name)
	}
	return p, nil
}

// choose says where the values of each leaf of the file go, and refuses chosen columns that hold no numbers.
func (p *parquetRecords) choose(idx []int, s schema.Columns) error {
	fields := p.file.Schema().Fields()
	leaf := make([]int, len(fields)) // the first leaf of each field: a nested one has several
	leaves := 0
	for j, f := range fields {
		leaf[j] = leaves
		leaves += countLeaves(f)
	}
	p.at, p.perDay, p.words = make([][]int, leaves), make([]float64, len(idx)), make([]bool, len(idx))
	for k, j := range idx {
		f := fields[j]
		word := f.Leaf() && p.typed && f.Type().Kind() == parquet.ByteArray
		if f.Leaf() {
			p.perDay[k] = unitsPerDay(f.Type())
		}
		if !f.Leaf() || f.Repeated() || !slices.Contains(numeric, f.Type().Kind()) && !word ||
			p.perDay[k] > 0 && !p.typed {
			return bad("%s: column %q is of type %s, not a number", p.src.name, f.Name(), f.Type())
		}
		p.at[leaf[j]] = append(p.at[leaf[j]], k)
		p.words[k] = p.typed && (s == nil || s[k].Kind == schema.Category)
		if s == nil {
			continue
		}
		if err := p.suits(f.Type().Kind(), p.perDay[k], s[k].Kind); err != nil {
			return bad("%s: column %q %w", p.src.name, f.Name(), err)
		}
	}
	return nil
}

// suits refuses a column that stores other than what is expected. Strings may be written as anything.
func (p *parquetRecords) suits(stored parquet.Kind, perDay float64, want schema.Kind) error {
	is := schema.Number
	switch {
	case want == schema.Text, want == schema.Empty, stored == parquet.ByteArray:
		return nil
	case perDay > 0:
		is = schema.Date
	case stored == parquet.Boolean && want == schema.Category:
		is = schema.Category
	}
	if want != is {
		return fmt.Errorf("holds %s where %s are expected", kindName(is), kindName(want))
	}
	return nil
}

// unitsPerDay is how many units of a column of dates are a day, 0 for other columns.
func unitsPerDay(t parquet.Type) float64 {
	l := t.LogicalType()
	if l == nil {
		return 0
	}
	switch is := l.Value.(type) {
	case *format.DateType:
		return 1
	case *format.TimestampType:
		if is.Unit.Value != nil {
			return float64(24 * time.Hour / is.Unit.Value.Duration())
		}
	}
	return 0
}

func kindName(k schema.Kind) string {
	switch k {
	case schema.Number:
		return "numbers"
	case schema.Category:
		return "words"
	case schema.Date:
		return "dates"
	}
	return string(k) + "s"
}

func countLeaves(n parquet.Node) int {
	if n.Leaf() {
		return 1
	}
	total := 0
	for _, f := range n.Fields() {
		total += countLeaves(f)
	}
	return total
}

// openParquet turns the panics that the decoder answers some broken files with into errors. What the footer takes is
// added to held before it is decoded.
func openParquet(at io.ReaderAt, size int64, held *memory.Growing) (f *parquet.File, err error) {
	var end [8]byte
	if _, err := at.ReadAt(end[:], size-int64(len(end))); size < int64(len(end)) || err != nil &&
		!errors.Is(err, io.EOF) {
		return nil, errors.New("it is cut short")
	}
	n := int64(binary.LittleEndian.Uint32(end[:]))
	if n > size-int64(len(end)) {
		return nil, fmt.Errorf("its footer claims %d bytes of %d", n, size)
	}
	if err := held.Add(4 * float64(n)); err != nil {
		return nil, err
	}
	text := make([]byte, n)
	if _, err := at.ReadAt(text, size-int64(len(end))-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	q := footer{r: new(thrift.CompactProtocol).NewReaderFromBytes(text), size: len(text)}
	if err := q.value(thrift.STRUCT, false, 0); err != nil {
		return nil, errors.New("its footer is broken")
	}
	const perStructure = 400
	if err := held.Add(perStructure * float64(q.structures)); err != nil {
		return nil, err
	}
	defer func() {
		if recover() != nil {
			err = errors.New("its structure is broken")
		}
	}()
	return parquet.OpenFile(at, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
}

// footer counts the structures of Thrift in so many bytes. The decoder allocates lists by the lengths that they claim.
type footer struct {
	r          thrift.BytesReader
	size       int
	structures int
}

var errFooter = errors.New("no footer")

func (f *footer) value(t thrift.Type, element bool, depth int) (err error) {
	if depth > maxDepth {
		return errFooter
	}
	switch t {
	case thrift.TRUE, thrift.FALSE:
		if element {
			_, err = f.r.ReadBool()
		}
	case thrift.I8:
		_, err = f.r.ReadInt8()
	case thrift.I16:
		_, err = f.r.ReadInt16()
	case thrift.I32:
		_, err = f.r.ReadInt32()
	case thrift.I64:
		_, err = f.r.ReadInt64()
	case thrift.DOUBLE:
		_, err = f.r.ReadFloat64()
	case thrift.BINARY:
		_, err = f.r.ReadBytes()
	case thrift.LIST, thrift.SET:
		var list thrift.List
		list, err = f.r.ReadList()
		if int(list.Size) > f.size-f.r.BytesRead() {
			return errFooter
		}
		for k := int32(0); k < list.Size && err == nil; k++ {
			err = f.value(list.Type, true, depth+1)
		}
	case thrift.STRUCT:
		f.structures++
		for err == nil {
			var field thrift.Field
			if field, err = f.r.ReadField(); field.Type == thrift.STOP {
				break
			}
			if err == nil {
				err = f.value(field.Type, false, depth+1)
			}
		}
	default:
		err = errFooter
	}
	return err
}

// pageBytes is what a page of each column takes at once, the largest that their headers claim.
func pageBytes(at io.ReaderAt, m *format.FileMetaData) (most float64) {
	block := make([]byte, 1<<16)
	for _, group := range m.RowGroups {
		var sum float64
		for k := range group.Columns {
			c, largest := &group.Columns[k].MetaData, 0.0
			from := c.DataPageOffset
			if d := c.DictionaryPageOffset; d > 0 && d < from {
				from = d
			}
			for end := from + c.TotalCompressedSize; from >= 0 && from < end; {
				n, _ := at.ReadAt(block, from)
				r := new(thrift.CompactProtocol).NewReaderFromBytes(block[:n])
				var h format.PageHeader
				if thrift.NewDecoder(r).Decode(&h) != nil || h.CompressedPageSize < 0 {
					break // reading it says what is wrong
				}
				values := float64(max(h.DataPageHeader.V.NumValues, h.DataPageHeaderV2.V.NumValues,
					h.DictionaryPageHeader.V.NumValues))
				largest = max(largest, float64(h.CompressedPageSize)+float64(h.UncompressedPageSize)+16*values)
				from += int64(r.BytesRead()) + int64(h.CompressedPageSize)
			}
			sum += largest
		}
		most = max(most, sum)
	}
	return most
}

// numeric are the types that become numbers.
var numeric = []parquet.Kind{parquet.Boolean, parquet.Int32, parquet.Int64, parquet.Float, parquet.Double}

func (p *parquetRecords) columns() ([]string, int) { return p.names, len(p.names) }
func (p *parquetRecords) commas() bool             { return false }
func (p *parquetRecords) place() string            { return fmt.Sprintf("row %d", p.done) }

func (p *parquetRecords) kind(k int) schema.Kind {
	if p.perDay[k] > 0 {
		return schema.Date
	}
	return schema.Number
}

func (p *parquetRecords) close() error {
	if p.rows != nil {
		_ = p.rows.Close()
	}
	return p.src.close()
}

func (p *parquetRecords) next(dst []cell) (err error) {
	defer func() {
		if recover() != nil {
			err = bad("%s: broken data after row %d", p.src.name, p.done)
		}
	}()
	for len(p.held) == 0 {
		if err := p.fill(); err != nil {
			return err
		}
	}
	row := p.held[0]
	p.held = p.held[1:]
	p.done++
	for _, v := range row {
		for _, k := range p.at[v.Column()] {
			dst[k] = p.cell(v, k)
		}
	}
	return nil
}

// fill reads rows of the group at hand, or turns to the next group.
func (p *parquetRecords) fill() error {
	if p.ended {
		_ = p.rows.Close() // values of the last rows were in use till now
		p.rows, p.ended = nil, false
	}
	if p.rows == nil {
		groups := p.file.RowGroups()
		if p.group == len(groups) {
			return io.EOF
		}
		p.rows = groups[p.group].Rows()
		p.group++
	}
	k, err := p.rows.ReadRows(p.buf)
	p.held = p.buf[:k]
	switch {
	case errors.Is(err, io.EOF):
		p.ended = true
	case err != nil && k == 0:
		return bad("%s: broken data after row %d: %v", p.src.name, p.done, err)
	case k == 0:
		return bad("%s: broken data after row %d: a reader without rows or end", p.src.name, p.done)
	}
	return nil
}

// cell is what a value of the chosen column k stands for.
func (p *parquetRecords) cell(v parquet.Value, k int) cell {
	switch {
	case v.IsNull():
		return cell{number: nan}
	case p.perDay[k] > 0:
		return cell{number: parquetNumber(v) / p.perDay[k]}
	case v.Kind() == parquet.ByteArray, v.Kind() == parquet.Boolean && p.words[k]:
		return cell{strings.TrimSpace(v.String()), nan}
	}
	return cell{number: parquetNumber(v)}
}

func parquetNumber(v parquet.Value) float64 {
	switch {
	case v.Kind() == parquet.Boolean:
		if v.Boolean() {
			return 1
		}
		return 0
	case v.Kind() == parquet.Int32:
		return float64(v.Int32())
	case v.Kind() == parquet.Int64:
		return float64(v.Int64())
	case v.Kind() == parquet.Float:
		return float64(v.Float())
	}
	return v.Double()
}
