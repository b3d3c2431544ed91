// Command lines that cannot be read, in the program's own words.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace weft::program {

/// What was wrong with the command line that `app` could not parse: the word, of which command,
/// what was probably meant, and where to read more.
std::string parse_failure(const CLI::App& app, const CLI::ParseError& e);

}  // namespace weft::program
