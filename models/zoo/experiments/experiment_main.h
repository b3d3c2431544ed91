// The shared main() of the experiment programs.
#pragma once

#include <cstdint>
#include <string>

namespace weft::zoo {

/// An experiment: prints its results and returns a plot of them as an SVG document. `steps` is
/// the number of training steps, unless the program documents another meaning; 0 selects the
/// default of the experiment.
using Experiment = std::string (*)(std::int64_t steps);

/// Runs the command line "zoo_<name> [OUT.svg [STEPS]]" and writes the plot, by default to
/// <name>.svg. Returns the exit code: 0 on success, 1 after an error (printed on stderr), 2 for an
/// invalid command line.
int experiment_main(const std::string& name, Experiment experiment, int argc, char** argv);

}  // namespace weft::zoo
