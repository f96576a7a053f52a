module stateous.dev/routine

go 1.24
