// The files of a checkpoint, seen by readers: one, or one that names shards. Internal: protobuf
// stays out of public headers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/serialization/container.h"
#include "weft_proto/weft.pb.h"

namespace weft {

inline constexpr std::uint32_t kFormatVersion = 1;

/// The first record of this type; null where there is none.
const Record* find_record(const Container& file, RecordType type);

/// A checkpoint's file and its shards, mapped. Whatever is wrong with them, or between them, is a
/// FormatError; a shard that is not there is an IoError that names both.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(const std::string& path);

  /// With all but the values of variables that have pieces.
  const Container& main() const { return main_; }
  /// The program that wrote it.
  const std::string& producer() const { return producer_; }
  /// Of all files together.
  std::uint64_t bytes() const;
  /// Checks every checksum.
  void check_data() const;
  /// The value of a variable that the record `variables` of the main file declares: a view of one
  /// file, or a copy where it has several pieces. Read-only. To be asked for once: a piece that two
  /// variables have is an error, so that what is copied is no more than the files hold.
  Tensor value(const v1::Variable& variable, DType dtype, const Sizes& sizes,
               const Record& variables);

 private:
  void open_shards(const Record& record);
  Tensor join(const v1::Variable& variable, DType dtype, const Sizes& sizes,
              const Record& variables);

  Container main_;
  std::string producer_;
  std::vector<Container> shards_;
  std::vector<std::vector<bool>> taken_;  // by shard and data record
};

/// The name that the shards of a checkpoint have in common, "net-3"; empty where it has none.
/// Throws as CheckpointFiles, and looks at no shard.
std::string name_of_shards(const std::string& path);

}  // namespace weft
