// Checkpoints of any bytes, read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace weft::fuzz {

/// Loads a checkpoint, reads its tensors and runs its programs. FormatError is the answer to a
/// malformed file; anything else goes on.
void read_checkpoint(const std::string& path);

/// Copies the records that can be told apart into a container with right checksums: else hardly any
/// mutation would get past them to the readers of graphs and programs.
void repair(const std::uint8_t* data, std::size_t size, const std::string& path);

/// A folder in memory, where there is one, for files of this process; it goes with the process.
const std::string& scratch_folder();

/// Writes a checkpoint of two ranks: "net.weft" and its shards. The same bytes every time.
void write_sharded(const std::string& folder);

}  // namespace weft::fuzz
