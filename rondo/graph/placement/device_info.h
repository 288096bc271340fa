// DeviceInfo and DeviceLink: what placement knows of the devices and of the way
// between two of them.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "rondo/graph/device_name.h"

namespace rondo {

// The rates are those that a node gets which runs alone. The defaults are those
// of a core of a common machine; measured times soon take their place.
struct DeviceInfo {
  DeviceName name;  // in full
  // Devices of one host reach each other's memory; empty: unknown, so that only
  // devices of the same task are near.
  std::string host = {};
  double flops_per_s = 3e10;
  double bytes_per_s = 8e9;
  // What a node costs besides its work: to be scheduled, started and ended.
  double node_seconds = 2e-6;
  int threads = 1;    // nodes that run at once
  double memory = 0;  // bytes for variables and constants; 0: without bound
};

// A tensor of n bytes takes latency + n / bytes_per_s. Tensors of one link
// follow each other; their latencies overlap.
struct DeviceLink {
  double latency = 0;  // seconds
  double bytes_per_s = 1e12;
};

// From one device to the other, by their names.
using DeviceLinks = std::map<std::pair<std::string, std::string>, DeviceLink>;

// What to think of a link that nobody has measured: within a process tensors
// are handed over, within a host they go through shared memory, else through a
// network of 10 Gbit/s. To and from another kind of device they are copied over
// a bus.
RONDO_API DeviceLink default_link(const DeviceInfo& from, const DeviceInfo& to);

}  // namespace rondo
