package wan

import (
	"encoding/binary"
	"fmt"
	"os"
)

const latencyDevice = "/dev/cpu_dma_latency"

// stayAwake keeps the processors of the whole machine from sleeping until the file is closed, at
// the latest with this process: who holds the device open asks that none takes longer to wake than
// the number written, in µs (the kernel's Documentation/power/pm_qos_interface.rst).
func stayAwake() (*os.File, error) {
	f, err := os.OpenFile(latencyDevice, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping the processors awake, which needs root and a kernel with CONFIG_CPU_IDLE: %w", err)
	}
	if _, err := f.Write(binary.NativeEndian.AppendUint32(nil, 0)); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("keeping the processors awake: %w", err)
	}
	return f, nil
}
