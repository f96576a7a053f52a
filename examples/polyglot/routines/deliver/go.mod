module polyglot-deliver

go 1.24

require stateous.dev/routine v0.1.0

replace stateous.dev/routine => ../../../../guest-sdk/go
