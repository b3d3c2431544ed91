// The shared main() of the experiment programs.
#pragma once

#include <cstdint>
#include <string>

namespace weft::zoo {

/// A function that runs an experiment, prints the results, and returns a plot of the results as an
/// SVG document. `steps` is the number of training steps, unless the program documents a different
/// meaning. 0 selects the default of the experiment.
using Experiment = std::string (*)(std::int64_t steps);

/// Implements the command line "zoo_<name> [OUT.svg [STEPS]]". Runs the experiment and writes the
/// plot, by default to <name>.svg. Returns the exit code: 0 on success, 1 after an error (printed
/// to stderr), 2 for an invalid command line.
int experiment_main(const std::string& name, Experiment experiment, int argc, char** argv);

}  // namespace weft::zoo
