// What main() of the zoo's experiments does.
#pragma once

#include <cstdint>
#include <string>

namespace weft::zoo {

/// An experiment: prints its figures and returns a picture of them, an SVG document. `steps` are
/// those of its training; 0 means its own number.
using Experiment = std::string (*)(std::int64_t steps);

/// Runs "zoo_<name> [OUT.svg [STEPS]]" and writes the picture, by default to <name>.svg. Returns
/// the exit code: 0, 1 after an error (said on stderr), 2 for bad usage.
int experiment_main(const std::string& name, Experiment experiment, int argc, char** argv);

}  // namespace weft::zoo
