// Package walker holds what the recorders of all providers share: it reads CRDs, builds valid
// objects from their schemas, mutates every field of them, puts each mutation through the steps of
// an API server and writes the recording. It knows no provider: a provider's module gives it the
// CRDs, the webhook handlers and the controller's comparison.
package walker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// CRD is one custom resource definition, ready to prune, default and validate objects with.
type CRD struct {
	GroupKind schema.GroupKind
	Plural    string
	Storage   string
	Versions  map[string]*Version
}

// Version is one served or stored version of a CRD.
type Version struct {
	Name   string
	Served bool
	Schema *apiextensionsv1.JSONSchemaProps

	structural *structuralschema.Structural
	hasStatus  bool
	scale      *apiextensionsv1.CustomResourceSubresourceScale
	openapi    func(obj map[string]any, old map[string]any) field.ErrorList
	cel        *cel.Validator
}

// LoadCRDs reads all CRDs of the given folders. The digest covers the bytes of all files, in the
// order of the folders and of the file names.
func LoadCRDs(dirs ...string) (map[schema.GroupKind]*CRD, string, error) {
	crds := map[schema.GroupKind]*CRD{}
	digest := sha256.New()
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			return nil, "", err
		}
		if len(names) == 0 {
			return nil, "", fmt.Errorf("no CRD files in %s", dir)
		}
		sort.Strings(names)
		for _, name := range names {
			raw, err := os.ReadFile(name)
			if err != nil {
				return nil, "", err
			}
			digest.Write(raw)
			definition := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal(raw, definition); err != nil {
				return nil, "", fmt.Errorf("%s: %w", name, err)
			}
			if definition.Kind != "CustomResourceDefinition" {
				continue
			}
			crd, err := newCRD(definition)
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", name, err)
			}
			crds[crd.GroupKind] = crd
		}
	}
	return crds, hex.EncodeToString(digest.Sum(nil)), nil
}

func newCRD(definition *apiextensionsv1.CustomResourceDefinition) (*CRD, error) {
	crd := &CRD{
		GroupKind: schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind},
		Plural:    definition.Spec.Names.Plural,
		Versions:  map[string]*Version{},
	}
	for i := range definition.Spec.Versions {
		v := &definition.Spec.Versions[i]
		if v.Storage {
			crd.Storage = v.Name
		}
		if v.Schema == nil || v.Schema.OpenAPIV3Schema == nil || (!v.Served && !v.Storage) {
			continue
		}
		version, err := newVersion(v)
		if err != nil {
			return nil, fmt.Errorf("version %s: %w", v.Name, err)
		}
		crd.Versions[v.Name] = version
	}
	return crd, nil
}

func newVersion(v *apiextensionsv1.CustomResourceDefinitionVersion) (*Version, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, err
	}
	validator, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	version := &Version{
		Name:       v.Name,
		Served:     v.Served,
		Schema:     v.Schema.OpenAPIV3Schema,
		structural: structural,
		cel:        cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
	if v.Subresources != nil {
		version.hasStatus = v.Subresources.Status != nil
		version.scale = v.Subresources.Scale
	}
	version.openapi = func(obj, old map[string]any) field.ErrorList {
		if old == nil {
			return validation.ValidateCustomResource(nil, obj, validator)
		}
		return validation.ValidateCustomResourceUpdate(nil, obj, old, validator)
	}
	return version, nil
}

// decode does what the API server does to an object before anything else looks at it: unknown
// fields go, nulls go where the schema allows none, defaults come.
func (v *Version) decode(obj map[string]any) error {
	kind, apiVersion, metadata := obj["kind"], obj["apiVersion"], obj["metadata"]
	pruning.Prune(obj, v.structural, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(obj, v.structural)
	if err := objectmeta.Coerce(nil, obj, v.structural, false, false); err != nil {
		return err
	}
	obj["kind"], obj["apiVersion"] = kind, apiVersion
	if metadata != nil {
		obj["metadata"] = metadata
	}
	defaulting.Default(obj, v.structural)
	return nil
}

// validate is the API server's own validation of a create (old is nil) or an update, without the
// ratcheting of newer API servers: the bases are valid, so nothing invalid is ever left unchanged.
func (v *Version) validate(obj, old map[string]any) field.ErrorList {
	errs := v.openapi(obj, old)
	errs = append(errs, v.validateScale(obj)...)
	errs = append(errs, objectmeta.Validate(nil, obj, v.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, obj)...)
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			// CEL is not run over an object whose shape is wrong.
			return errs
		}
	}
	if v.cel != nil {
		var previous any
		if old != nil {
			previous = old
		}
		celErrs, _ := v.cel.Validate(context.Background(), nil, v.structural, obj, previous, celconfig.RuntimeCELCostBudget)
		errs = append(errs, celErrs...)
	}
	return errs
}

func (v *Version) validateScale(obj map[string]any) field.ErrorList {
	if v.scale == nil {
		return nil
	}
	path := strings.TrimPrefix(v.scale.SpecReplicasPath, ".")
	value, found := lookup(obj, strings.Split(path, "."))
	if !found {
		return nil
	}
	replicas, isInt := value.(int64)
	if !isInt {
		return field.ErrorList{field.Invalid(field.NewPath(path), value, "should be an integer")}
	}
	if replicas < 0 {
		return field.ErrorList{field.Invalid(field.NewPath(path), replicas, "should be a non-negative integer")}
	}
	return nil
}

func lookup(obj any, path []string) (any, bool) {
	for _, name := range path {
		fields, ok := obj.(map[string]any)
		if !ok {
			return nil, false
		}
		if obj, ok = fields[name]; !ok {
			return nil, false
		}
	}
	return obj, true
}
