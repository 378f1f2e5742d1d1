// The first result of a process that has just begun.
#pragma once

#include <string>

namespace kiln::bench {

// Milliseconds, one after the other. The workload itself (the graph, and the bytes of its inputs) is
// made between `start` and `engine`, which is in none of them.
struct FirstResultTimes {
  double start = 0;    // From before the process is made to its main: above all loading libraries.
  double engine = 0;   // Registry, backend, device, engine.
  double upload = 0;   // The inputs, weights among them, to buffers of the device.
  double prepare = 0;  // The graph is scheduled, its kernels are found on disk and loaded.
  double run = 0;      // Until the results are there.
};

// Runs the workload once in a new process of this binary, whose main calls RunIfAsked first; objects
// of kernels are in `cache_folder`.
FirstResultTimes FirstResultInNewProcess(const std::string& workload,
                                         const std::string& cache_folder);

// If this process was made by the above: measures, tells, and ends the process.
void RunIfAsked(int argc, char** argv);

}  // namespace kiln::bench
