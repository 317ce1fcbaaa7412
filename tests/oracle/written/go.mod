// What the recorders of new and changed objects from the providers' own tests share. Their own go.mod files say in which versions.
module rollgate.dev/oracle/written

go 1.21

require (
	rollgate.dev/oracle/tables v0.0.0
	rollgate.dev/oracle/walker v0.0.0
)

replace (
	rollgate.dev/oracle/tables => ../tables
	rollgate.dev/oracle/walker => ../walker
)
