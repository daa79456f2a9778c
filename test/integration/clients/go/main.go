// Asks through the gateway as the Go client does: by the address of a broker, and by that of a controller. Prints a line for each query:
// `broker` or `controller`, a tab, and the first value or `! ` and the error.
package main

import (
	"fmt"
	"os"

	"github.com/startreedata/pinot-client-go/pinot"
)

func main() {
	url, token := os.Args[1], os.Args[2]
	headers := map[string]string{"Authorization": "Bearer " + token}
	ways := []struct {
		name   string
		config pinot.ClientConfig
	}{
		{"broker", pinot.ClientConfig{BrokerList: []string{url}}},
		{"controller", pinot.ClientConfig{ControllerConfig: &pinot.ControllerConfig{
			ControllerAddress:         url,
			ExtraControllerAPIHeaders: headers,
		}}},
	}
	for _, way := range ways {
		way.config.ExtraHTTPHeader = headers
		connection, err := pinot.NewWithConfig(&way.config)
		for i := 3; i+1 < len(os.Args); i += 2 {
			table, sql := os.Args[i], os.Args[i+1]
			value := ""
			if err == nil {
				value, err = ask(connection, table, sql)
			}
			if err != nil {
				value = "! " + err.Error()
			}
			fmt.Printf("%s\t%s\n", way.name, value)
			err = nil
		}
	}
}

func ask(connection *pinot.Connection, table, sql string) (string, error) {
	answer, err := connection.ExecuteSQL(table, sql)
	if err != nil {
		return "", err
	}
	if len(answer.Exceptions) > 0 {
		return "", fmt.Errorf("%v", answer.Exceptions[0])
	}
	return fmt.Sprint(answer.ResultTable.GetLong(0, 0)), nil
}
