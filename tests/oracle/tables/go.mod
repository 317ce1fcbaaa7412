// What the recorders of cases from the providers' own tests share. Their own go.mod files say in which versions.
module rollgate.dev/oracle/tables

go 1.21

require (
	rollgate.dev/oracle/walker v0.0.0
	sigs.k8s.io/controller-runtime v0.16.5
)

replace rollgate.dev/oracle/walker => ../walker
