// A cache of verified files, so that the checksums of a large file are verified only once.
//
// The cache has one small file per verified file, $XDG_CACHE_HOME/weft/verified/DEVICE-INODE (by
// default in ~/.cache). The folders of the verified files are never written to. A cache that cannot
// be read or written is never an error: the file is then verified again. Processes may use the
// cache concurrently.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Identifies one state of a file. Writing to the file changes its modification time; replacing it
/// changes its inode.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0, bytes = 0;
  std::int64_t modified = 0;  // nanoseconds since 1970
  std::int64_t seen = 0;      // when this identity was read; not compared

  /// Returns the current identity of a file, or nullopt if it cannot be read.
  static std::optional<FileIdentity> of(const std::string& path);
  bool operator==(const FileIdentity& other) const {
    return device == other.device && inode == other.inode && bytes == other.bytes &&
           modified == other.modified;
  }
};

/// The result of verifying a file.
enum class Verified {
  no,
  intact,  // all checksums are correct
  finite,  // also, all parameters and optimizer variables are finite
};

/// Returns the recorded result for a file in this state, or Verified::no. `checksum` is the
/// checksum of the index of the file. Only a record that belongs to the user, that no other user
/// can write and that matches in every byte counts.
Verified recorded_verification(const FileIdentity& file, std::uint32_t checksum);

/// Records a result. `before` is the identity of the file at `path` before it was verified. Does
/// nothing if the file has changed since then, or if it was modified immediately before (within the
/// resolution of its modification time, so that a later change could remain unnoticed). When the
/// cache has 4096 records, the older half is removed.
void record_verification(const std::string& path, const FileIdentity& before,
                         std::uint32_t checksum, Verified result);

/// Removes the record of a file, if any.
void forget_verification(const FileIdentity& file);

}  // namespace weft
