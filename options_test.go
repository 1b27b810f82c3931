package iokl_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/iokl/iokl"
	"github.com/iokl/iokl/blas"
	"github.com/iokl/iokl/kernel"
)

// Every option has a snake_case name in JSON, is read back as it was, and is left out at zero.
func TestOptionsJSON(t *testing.T) {
	zero, err := json.Marshal(iokl.Options{})
	if err != nil || string(zero) != "{}" {
		t.Errorf("zero options are %s, %v", zero, err)
	}
	named := regexp.MustCompile(`^[a-z]+(_[a-z]+)*,omit(empty|zero)$`)
	for _, typ := range []reflect.Type{reflect.TypeFor[iokl.Options](), reflect.TypeFor[iokl.CVOptions]()} {
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() && f.Tag.Get("json") != "-" && !named.MatchString(f.Tag.Get("json")) {
				t.Errorf("%v.%s has the JSON name %q", typ, f.Name, f.Tag.Get("json"))
			}
		}
	}
	opt := iokl.Options{
		Kernels: []string{"linear:g"}, Groups: []kernel.Group{{Name: "g", Columns: []int{1, 2}}}, Lambda: 0.5,
		Precision: blas.Float32, Seed: 1 << 63, Budget: iokl.Budget(90 * time.Second), CV: iokl.CVOptions{
			Folds: 3,
			OneSE: true,
		},
	}
	text, err := json.Marshal(opt)
	if err != nil {
		t.Fatal(err)
	}
	var back iokl.Options
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, opt) {
		t.Errorf("%s is read as %+v, %v", text, back, err)
	}
	for _, part := range []string{`"precision":"float32"`, `"budget":"1m30s"`} {
		if !bytes.Contains(text, []byte(part)) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	for _, bad := range []string{`{"precision":"half"}`, `{"budget":"soon"}`, `{"budget":"-1s"}`, `{"budget":60}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
