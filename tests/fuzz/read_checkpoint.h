// Functions for reading untrusted checkpoints, shared by the checkpoint fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::fuzz {

/// Loads a checkpoint, reads its tensors and runs its programs. Ignores FormatError, the documented
/// error for a malformed file; other exceptions propagate.
void read_checkpoint(const std::string& path);

/// Copies the records that can still be found in `data` into a new container with correct checksums
/// at `path`. Without this, almost all mutations would fail a checksum and never reach the code
/// that reads graphs and programs.
void repair(const std::uint8_t* data, std::size_t size, const std::string& path);

/// Returns a folder for the temporary files of this process, in shared memory if available. The
/// folder is removed when the process exits.
const std::string& scratch_folder();

/// Writes a checkpoint from two ranks to `folder`: "net.weft" and its shards. The bytes are the
/// same every time.
void write_sharded(const std::string& folder);

}  // namespace weft::fuzz
