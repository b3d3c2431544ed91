// Fingerprint of the data of a training run, by which a resumed run checks that its data is
// unchanged.
#pragma once

#include <set>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// Returns a fingerprint of all files that the command reads, except those of the options in
/// `excluded`. It covers the bytes of a file, the names and sizes of all files in a folder, and for
/// token files their checksums and their given weight. It does not depend on where the files are.
/// Empty if there is nothing to compare: no file, a file that cannot be read, or a file that can be
/// read only once (a pipe).
std::string data_digest(const CLI::App& command, const std::set<std::string>& excluded);

}  // namespace weft::program
