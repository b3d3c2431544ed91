// Reading the files of a checkpoint: a single file, or a main file and its shards. Internal:
// protobuf stays out of public headers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/serialization/container.h"
#include "weft_proto/weft.pb.h"

namespace weft {

inline constexpr std::uint32_t kFormatVersion = 1;

/// Returns the first record of this type, or null if there is none.
const Record* find_record(const Container& file, RecordType type);

/// Returns the record with the list of variables of a main file. Throws FormatError if there is
/// none, for example because the file is a shard.
const Record& variables_record(const Container& file);

/// The mapped main file of a checkpoint and its shards, if any. Throws FormatError for any defect
/// in a file or mismatch between files. Throws IoError, naming both files, if a shard is missing.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(const std::string& path);

  /// The main file, which contains everything except variable values that are stored in shards.
  const Container& main() const { return main_; }
  /// Name and version of the software that wrote the checkpoint.
  const std::string& producer() const { return producer_; }
  /// Total size of all files in bytes.
  std::uint64_t bytes() const;
  /// Verifies all checksums of data records. Returns true if all parameters and optimizer variables
  /// that `manifest` declares are known to be finite. If `once` is true, does not read the files if
  /// an earlier call has verified them (files/verified_files.h), and records that they are intact.
  bool check_data(const v1::Variables& manifest, bool once = false) const;
  /// Returns the read-only value of a variable that is declared in record `variables` of the main
  /// file: a view of one file, or a copy if it consists of several pieces. Must be called only once
  /// per variable: a piece that is used twice is an error, so that the copies are never larger than
  /// the files.
  Tensor value(const v1::Variable& variable, DType dtype, const Sizes& sizes,
               const Record& variables);

 private:
  void open_shards(const Record& record);
  bool check_numbers(const v1::Variables& manifest) const;
  Tensor join(const v1::Variable& variable, DType dtype, const Sizes& sizes,
              const Record& variables);

  Container main_;
  std::string producer_;
  std::vector<Container> shards_;
  std::vector<std::vector<bool>> taken_;  // true for pieces already used, by shard and data record
};

/// Returns the name of the save to which the shards of a checkpoint belong, such as "net-3", or ""
/// if it has no shards. Throws the same errors as the constructor of CheckpointFiles, but does not
/// open any shard.
std::string name_of_shards(const std::string& path);

}  // namespace weft
