package walker

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"sort"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// The steps at which a write can be refused, in the order in which the API server takes them.
const (
	StageDecode     = "decode"
	StageMutating   = "mutating"
	StageConversion = "conversion"
	StageSchema     = "schema"
	StageValidating = "validating"
)

// Rejection says at which step a write was refused, why, and which fields were named.
type Rejection struct {
	Stage  string
	Reason string
	Fields []string
}

// Server takes writes as an API server does: decode, mutating webhooks, schema and CEL,
// validating webhooks, conversion to the storage version. It stores nothing.
type Server struct {
	crds       map[schema.GroupKind]*CRD
	handlers   map[string]http.Handler
	mutating   []hook
	validating []hook
	converted  map[string]map[string]any
}

type hook struct {
	path     string
	group    string
	version  string
	resource string
	create   bool
	update   bool
}

// NewServer makes a Server from CRDs, the webhook manifests of the provider (the files that
// install its webhook configurations) and the handlers that the provider registered, by path.
func NewServer(crds map[schema.GroupKind]*CRD, manifests []string, handlers map[string]http.Handler) (*Server, error) {
	s := &Server{crds: crds, handlers: handlers, converted: map[string]map[string]any{}}
	for _, manifest := range manifests {
		if err := s.loadWebhooks(manifest); err != nil {
			return nil, fmt.Errorf("%s: %w", manifest, err)
		}
	}
	return s, nil
}

func (s *Server) loadWebhooks(manifest string) error {
	raw, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	reader := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		document := runtime.RawExtension{}
		if err := reader.Decode(&document); err != nil {
			break
		}
		configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
		if err := json.Unmarshal(document.Raw, configuration); err != nil {
			return err
		}
		var found []hook
		for _, webhook := range configuration.Webhooks {
			path := ""
			if webhook.ClientConfig.Service != nil && webhook.ClientConfig.Service.Path != nil {
				path = *webhook.ClientConfig.Service.Path
			}
			found = append(found, hooksOf(path, webhook.Rules)...)
		}
		switch configuration.Kind {
		case "MutatingWebhookConfiguration":
			s.mutating = append(s.mutating, found...)
		case "ValidatingWebhookConfiguration":
			s.validating = append(s.validating, found...)
		}
	}
	return nil
}

func hooksOf(path string, rules []admissionregistrationv1.RuleWithOperations) []hook {
	var hooks []hook
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, version := range rule.APIVersions {
				for _, resource := range rule.Resources {
					h := hook{path: path, group: group, version: version, resource: resource}
					for _, operation := range rule.Operations {
						h.create = h.create || operation == admissionregistrationv1.Create || operation == admissionregistrationv1.OperationAll
						h.update = h.update || operation == admissionregistrationv1.Update || operation == admissionregistrationv1.OperationAll
					}
					hooks = append(hooks, h)
				}
			}
		}
	}
	return hooks
}

// CRD gives the definition of a kind, nil when the provider has none.
func (s *Server) CRD(group, kind string) *CRD {
	return s.crds[schema.GroupKind{Group: group, Kind: kind}]
}

// Create takes a new object and answers with the object in the storage version.
func (s *Server) Create(obj map[string]any) (map[string]any, *Rejection) {
	return s.write(obj, nil)
}

// Update takes the new content of an object whose stored form is old, written in the API version
// that obj names, and answers with the object in the storage version.
func (s *Server) Update(obj, old map[string]any) (map[string]any, *Rejection) {
	return s.write(obj, old)
}

// Made puts an object that a controller makes through the API server (defaults, webhooks) and fills
// into with what is stored. The status stays.
func (s *Server) Made(obj, into any) error {
	made := ToMap(obj)
	status := made["status"]
	stored, rejection := s.Create(made)
	if rejection != nil {
		return fmt.Errorf("%v %v refused (%s): %s", made["kind"], made["metadata"], rejection.Stage, rejection.Reason)
	}
	if status != nil {
		stored["status"] = status
	}
	return FromMap(stored, into)
}

func (s *Server) write(obj, old map[string]any) (map[string]any, *Rejection) {
	crd, version, err := s.find(obj)
	if err != nil {
		return nil, &Rejection{Stage: StageDecode, Reason: err.Error()}
	}
	if err := checkMetadata(obj); err != nil {
		return nil, &Rejection{Stage: StageDecode, Reason: err.Error()}
	}
	if old != nil {
		if old, err = s.Read(old, version.Name); err != nil {
			return nil, &Rejection{Stage: StageConversion, Reason: err.Error()}
		}
	}
	obj = clone(obj)
	if err := version.decode(obj); err != nil {
		return nil, &Rejection{Stage: StageDecode, Reason: err.Error()}
	}
	obj, rejection := s.mutate(crd, version, obj, old)
	if rejection != nil {
		return nil, rejection
	}
	if version.hasStatus {
		delete(obj, "status")
		if old != nil && old["status"] != nil {
			obj["status"] = old["status"]
		}
	}
	if errs := version.validate(obj, old); len(errs) > 0 {
		return nil, rejectionOf(StageSchema, errs)
	}
	if rejection := s.admit(crd, version, obj, old); rejection != nil {
		return nil, rejection
	}
	stored, err := s.Read(obj, crd.Storage)
	if err != nil {
		return nil, &Rejection{Stage: StageConversion, Reason: err.Error()}
	}
	return stored, nil
}

func checkMetadata(obj map[string]any) error {
	raw, err := json.Marshal(obj["metadata"])
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, &metav1.ObjectMeta{})
}

func (s *Server) find(obj map[string]any) (*CRD, *Version, error) {
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, nil, err
	}
	crd := s.CRD(gv.Group, kind)
	if crd == nil || crd.Versions[gv.Version] == nil {
		return nil, nil, fmt.Errorf("no schema for %s %s", apiVersion, kind)
	}
	return crd, crd.Versions[gv.Version], nil
}

// Read gives an object in another version, as a client would read it there.
func (s *Server) Read(obj map[string]any, version string) (map[string]any, error) {
	crd, from, err := s.find(obj)
	if err != nil {
		return nil, err
	}
	if from.Name == version {
		return clone(obj), nil
	}
	key := version + string(encode(obj))
	if known, ok := s.converted[key]; ok {
		return clone(known), nil
	}
	result, err := s.convert(obj, crd.GroupKind.Group+"/"+version)
	if err != nil {
		return nil, err
	}
	to := crd.Versions[version]
	if err := to.decode(result); err != nil {
		return nil, err
	}
	if len(s.converted) > 512 {
		s.converted = map[string]map[string]any{}
	}
	s.converted[key] = result
	return clone(result), nil
}

func (s *Server) convert(obj map[string]any, apiVersion string) (map[string]any, error) {
	handler := s.handlers["/convert"]
	if handler == nil {
		return nil, fmt.Errorf("no conversion webhook")
	}
	review := &apiextensionsv1.ConversionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "ConversionReview"},
		Request: &apiextensionsv1.ConversionRequest{
			UID:               "oracle",
			DesiredAPIVersion: apiVersion,
			Objects:           []runtime.RawExtension{{Raw: encode(obj)}},
		},
	}
	request := httptest.NewRequest(http.MethodPost, "/convert", bytes.NewReader(encode(review)))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	answer := &apiextensionsv1.ConversionReview{}
	if err := json.Unmarshal(recorder.Body.Bytes(), answer); err != nil {
		return nil, fmt.Errorf("conversion answered %q: %w", recorder.Body.String(), err)
	}
	if answer.Response == nil || answer.Response.Result.Status != metav1.StatusSuccess || len(answer.Response.ConvertedObjects) != 1 {
		if answer.Response != nil {
			return nil, fmt.Errorf("conversion to %s: %s", apiVersion, answer.Response.Result.Message)
		}
		return nil, fmt.Errorf("conversion to %s: no response", apiVersion)
	}
	result := Decode(answer.Response.ConvertedObjects[0].Raw)
	restoreMetadata(obj, result)
	return result, nil
}

// restoreMetadata keeps what a conversion webhook may not change: all metadata but labels and
// annotations.
func restoreMetadata(original, converted map[string]any) {
	metadata := clone(original)["metadata"].(map[string]any)
	got, _ := converted["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		if value, ok := got[name]; ok {
			metadata[name] = value
		} else {
			delete(metadata, name)
		}
	}
	converted["metadata"] = metadata
}

func (s *Server) hooksFor(hooks []hook, crd *CRD, update bool) []hook {
	var found []hook
	for _, h := range hooks {
		if h.group != crd.GroupKind.Group || h.resource != crd.Plural {
			continue
		}
		if update && h.update || !update && h.create {
			found = append(found, h)
		}
	}
	return found
}

func (s *Server) mutate(crd *CRD, version *Version, obj, old map[string]any) (map[string]any, *Rejection) {
	for _, h := range s.hooksFor(s.mutating, crd, old != nil) {
		sent, response, rejection := s.call(StageMutating, h, crd, obj, old)
		if rejection != nil {
			return nil, rejection
		}
		if len(response.Patches) == 0 {
			continue
		}
		patch, err := jsonpatch.DecodePatch(encode(response.Patches))
		if err != nil {
			return nil, &Rejection{Stage: StageMutating, Reason: err.Error()}
		}
		patched, err := patch.Apply(sent)
		if err != nil {
			return nil, &Rejection{Stage: StageMutating, Reason: err.Error()}
		}
		if obj, err = s.Read(Decode(patched), version.Name); err != nil {
			return nil, &Rejection{Stage: StageConversion, Reason: err.Error()}
		}
		if err := version.decode(obj); err != nil {
			return nil, &Rejection{Stage: StageMutating, Reason: err.Error()}
		}
	}
	return obj, nil
}

func (s *Server) admit(crd *CRD, version *Version, obj, old map[string]any) *Rejection {
	for _, h := range s.hooksFor(s.validating, crd, old != nil) {
		if _, _, rejection := s.call(StageValidating, h, crd, obj, old); rejection != nil {
			return rejection
		}
	}
	return nil
}

// call sends an admission request in the version that the webhook wants and gives the sent object
// back with the answer.
func (s *Server) call(stage string, h hook, crd *CRD, obj, old map[string]any) ([]byte, admission.Response, *Rejection) {
	none := admission.Response{}
	handler, ok := s.handlers[h.path].(admission.Handler)
	if !ok {
		return nil, none, &Rejection{Stage: stage, Reason: "no handler for " + h.path}
	}
	converted, err := s.Read(obj, h.version)
	if err != nil {
		return nil, none, &Rejection{Stage: StageConversion, Reason: err.Error()}
	}
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID:       "oracle",
		Kind:      metav1.GroupVersionKind{Group: h.group, Version: h.version, Kind: crd.GroupKind.Kind},
		Resource:  metav1.GroupVersionResource{Group: h.group, Version: h.version, Resource: crd.Plural},
		Operation: admissionv1.Create,
		UserInfo:  authenticationv1.UserInfo{Username: "oracle"},
	}}
	sent := encode(converted)
	request.Object = runtime.RawExtension{Raw: sent}
	metadata, _ := obj["metadata"].(map[string]any)
	request.Name, _ = metadata["name"].(string)
	request.Namespace, _ = metadata["namespace"].(string)
	if old != nil {
		previous, err := s.Read(old, h.version)
		if err != nil {
			return nil, none, &Rejection{Stage: StageConversion, Reason: err.Error()}
		}
		request.Operation = admissionv1.Update
		request.OldObject = runtime.RawExtension{Raw: encode(previous)}
	}
	response, crash := handle(handler, request)
	if crash != "" {
		return nil, none, &Rejection{Stage: stage, Reason: "panic: " + crash}
	}
	if !response.Allowed {
		return nil, none, rejectionOfStatus(stage, response.Result)
	}
	return sent, response, nil
}

// handle recovers: a webhook that panics drops the connection, and the API server refuses.
func handle(handler admission.Handler, request admission.Request) (response admission.Response, crash string) {
	defer func() {
		if r := recover(); r != nil {
			crash = fmt.Sprint(r)
		}
	}()
	return handler.Handle(context.Background(), request), ""
}

func rejectionOf(stage string, errs field.ErrorList) *Rejection {
	var reasons, fields []string
	for _, err := range errs {
		reasons = append(reasons, fmt.Sprintf("%s: %s: %s", err.Field, err.Type, err.Detail))
		fields = append(fields, err.Field)
	}
	sort.Strings(reasons)
	sort.Strings(fields)
	return &Rejection{Stage: stage, Reason: shorten(strings.Join(reasons, "; ")), Fields: fields}
}

var (
	// Values dumped into a message hold Go pointers and maps in random order.
	dumped   = regexp.MustCompile(`(Invalid value|Unsupported value|Duplicate value|Forbidden): (v1beta[12]\.|map\[|\[\]|\{|"?\{)[^;]*?: `)
	pointers = regexp.MustCompile(`\(\*?[\w.]+\)\(0x[0-9a-f]+\)|0x[0-9a-f]{6,}`)
)

func rejectionOfStatus(stage string, status *metav1.Status) *Rejection {
	if status == nil {
		return &Rejection{Stage: stage, Reason: "denied"}
	}
	var reasons, fields []string
	if status.Details != nil {
		for _, cause := range status.Details.Causes {
			reasons = append(reasons, cause.Field+": "+cause.Message)
			fields = append(fields, cause.Field)
		}
	}
	if len(reasons) == 0 {
		message := status.Message
		if message == "" {
			message = string(status.Reason)
		}
		reasons = append(reasons, message)
	}
	for i := range reasons {
		reasons[i] = pointers.ReplaceAllString(dumped.ReplaceAllString(reasons[i], "$1: "), "PTR")
	}
	sort.Strings(reasons)
	sort.Strings(fields)
	return &Rejection{Stage: stage, Reason: shorten(strings.Join(reasons, "; ")), Fields: fields}
}

func shorten(text string) string {
	text = strings.ReplaceAll(text, "\u00a0", " ")
	if len(text) > 300 {
		cut := 300
		for cut > 0 && text[cut]&0xC0 == 0x80 {
			cut--
		}
		return text[:cut] + "..."
	}
	return text
}

// Decode reads JSON as Kubernetes does: whole numbers are int64. The input comes from an encoder,
// so it parses.
func Decode(raw []byte) map[string]any {
	result := map[string]any{}
	if err := utiljson.Unmarshal(raw, &result); err != nil {
		panic(fmt.Sprintf("not a JSON object: %v: %s", err, raw))
	}
	return result
}

// ToMap gives any API object as plain JSON.
func ToMap(obj any) map[string]any {
	return Decode(encode(obj))
}

// FromMap fills an API object from plain JSON.
func FromMap(obj map[string]any, into any) error {
	return json.Unmarshal(encode(obj), into)
}

func encode(obj any) []byte {
	buffer := &bytes.Buffer{}
	encoder := json.NewEncoder(buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(obj); err != nil {
		panic(fmt.Sprintf("cannot be JSON: %v", err))
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))
}

func clone(obj map[string]any) map[string]any {
	return runtime.DeepCopyJSON(obj)
}
