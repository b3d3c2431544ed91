// Fingerprint of the training data, which a resumed run uses to check that its data is unchanged.
#pragma once

#include <set>
#include <string>

namespace CLI {
class App;
}  // namespace CLI

namespace weft::program {

/// Returns a fingerprint of all files that the command reads, except the files of the options in
/// `excluded`. It covers the bytes of each file, the names and sizes of all files in each folder,
/// and, for token files, the checksums and the weights that were given. It does not depend on the
/// locations of the files. Returns an empty string if there is nothing to compare: if there is no
/// file, or if a file cannot be read or can be read only once (a pipe).
std::string data_digest(const CLI::App& command, const std::set<std::string>& excluded);

}  // namespace weft::program
