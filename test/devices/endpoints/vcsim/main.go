// A vCenter for the device tests: govmomi's simulator with four machines. The first line of stdin is JSON with the
// password, since arguments can be read by others. After that each line is a question about the truth: `get <id>` or
// `set <id> <property> <value>`, answered by the power state. The end of stdin ends the process.
package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

type settings struct {
	Username    string `json:"username"`
	Password    string `json:"password"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

func main() {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		log.Fatal(err)
	}
	var given settings
	if err := json.Unmarshal(line, &given); err != nil {
		log.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(given.Certificate), []byte(given.Key))
	if err != nil {
		log.Fatal(err)
	}

	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost, model.Host = 1, 1, 2, 0
	model.Machine = 4
	defer model.Remove()
	if err := model.Create(); err != nil {
		log.Fatal(err)
	}
	model.Service.Listen = &url.URL{Host: "127.0.0.1:0", User: url.UserPassword(given.Username, given.Password)}
	model.Service.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server := model.Service.NewServer()
	defer server.Close()

	machines := []map[string]string{}
	for _, each := range model.Map().All("VirtualMachine") {
		machine := each.(*simulator.VirtualMachine)
		machines = append(machines, map[string]string{"name": machine.Name, "uuid": machine.Config.Uuid, "id": machine.Self.Value})
	}
	answers := json.NewEncoder(os.Stdout)
	_ = answers.Encode(map[string]any{"host": server.URL.Host, "machines": machines})

	lines := bufio.NewScanner(input)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		ctx := simulator.NewContext()
		ctx.Map = model.Map()
		machine := ctx.Map.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: words[1]}).(*simulator.VirtualMachine)
		ctx.WithLock(machine, func() {
			if words[0] == "set" {
				set(ctx, machine, words[2], words[3])
			}
			fmt.Println(machine.Runtime.PowerState)
		})
	}
}

func set(ctx *simulator.Context, machine *simulator.VirtualMachine, property string, value string) {
	change := types.PropertyChange{Name: property}
	switch property {
	case "name":
		change.Val = value
	case "runtime.powerState":
		change.Val = types.VirtualMachinePowerState(value)
	case "runtime.connectionState":
		change.Val = types.VirtualMachineConnectionState(value)
	default:
		log.Fatalf("no property %s", property)
	}
	ctx.Map.Update(ctx, machine, []types.PropertyChange{change})
}
