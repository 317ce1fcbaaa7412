// A program of its own: it reads the source of a provider, and is no part of any recorder.
module rollgate.dev/oracle/tables/capture

go 1.21
