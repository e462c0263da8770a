package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// As little of a database as shows whether one can be relied upon: it appends lines `UID COUNTER MILLISECONDS` to a file,
// has each on the disk before it says so, and when it begins reads back all that is there. What it says is one line each:
//
//	read COUNTER            all up to COUNTER is there, in order
//	wrote COUNTER           is on the disk
//	broken REASON           what is there cannot have been written by one at a time; it ends with 3
//	failed REASON           the disk does not take it; it ends with 4
//
// A line that is cut off in the middle was never acknowledged, and is taken away.
func write(args []string) {
	flags := flag.NewFlagSet("write", flag.ExitOnError)
	path := flags.String("file", "", "where it writes")
	as := flags.String("as", "", "who it is")
	everyMs := flags.Int("every-ms", 200, "how long it waits between two lines")
	_ = flags.Parse(args)

	file, err := os.OpenFile(*path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		end(4, "failed", err.Error())
	}
	counter, size, broken := readBack(file)
	if broken != "" {
		end(3, "broken", broken)
	}
	if err := file.Truncate(size); err != nil {
		end(4, "failed", err.Error())
	}
	fmt.Println("read", counter)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	for {
		counter++
		line := fmt.Sprintf("%s %d %d\n", *as, counter, time.Now().UnixMilli())
		if _, err := file.WriteAt([]byte(line), size); err != nil {
			end(4, "failed", err.Error())
		}
		if err := file.Sync(); err != nil {
			end(4, "failed", err.Error())
		}
		size += int64(len(line))
		fmt.Println("wrote", counter)
		select {
		case <-asked:
			return
		case <-time.After(time.Duration(*everyMs) * time.Millisecond):
		}
	}
}

// Answers the last counter, and where the next line goes.
func readBack(file *os.File) (counter int, size int64, broken string) {
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return counter, size, ""
		}
		if err != nil {
			end(4, "failed", err.Error())
		}
		var number int
		var at int64
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return counter, size, fmt.Sprintf("after %d: %q", counter, line)
		}
		if _, err := fmt.Sscan(fields[1]+" "+fields[2], &number, &at); err != nil || number != counter+1 {
			return counter, size, fmt.Sprintf("after %d: %q", counter, line)
		}
		counter = number
		size += int64(len(line))
	}
}

func end(code int, what, why string) {
	fmt.Println(what, why)
	os.Exit(code)
}
