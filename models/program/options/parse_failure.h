// Error messages for command lines that cannot be parsed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace weft::program {

/// Returns the error message for a command line that `app` could not parse: the offending word, the
/// command to which it was passed, the closest valid name, and a pointer to the help.
std::string parse_failure(const CLI::App& app, const CLI::ParseError& e);

}  // namespace weft::program
