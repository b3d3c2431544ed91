// What a training learned from, in a word: so that a run that goes on can tell whether its data are
// still the same.
#pragma once

#include <set>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// A word for the contents of all files that the command reads, but those of the options in
/// `besides`: of a file its bytes count, of a folder the names and sizes of all files inside, of
/// token files their checksums and the weight that they were given; where they lie does not. Empty
/// where there is nothing to tell by: no file, one that cannot be read, or one that can be read
/// only once (a pipe).
std::string data_digest(const CLI::App& command, const std::set<std::string>& besides);

}  // namespace weft::program
