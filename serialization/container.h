// The container format of .weft files: a sequence of records.
//
//   offset 0    48 bytes: "\x89weft\r\n\x1a", u32 container version (1), zeros
//   then        records: head of 16 bytes (u32 type, u32 zero, u64 payload length), payload, zeros
//               up to the next offset that is 48 modulo 64. Every payload therefore starts at a
//               multiple of 64, as mapped tensors require.
//   at the end  the index record (protobuf Index: type, offset, length, and CRC-32C per 64 MiB, of
//               every record before it) and the footer record (u64 offset of the index payload,
//               u64 length of it, u32 CRC of it, u32 CRC of the preceding 20 bytes).
// All numbers are little-endian.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/verified_files.h"

namespace WEFT_API weft {

enum class RecordType : std::uint32_t {  // four ASCII letters
  header = 0x44414548,                   // "HEAD"
  graph = 0x48505247,                    // "GRPH"
  nodes = 0x45444f4e,                    // "NODE"
  programs = 0x474f5250,                 // "PROG"
  variables = 0x53524156,                // "VARS"
  attachments = 0x43415441,              // "ATAC"
  data = 0x41544144,                     // "DATA"
  shards = 0x44524853,                   // "SHRD"
  index = 0x58444e49,                    // "INDX"
  footer = 0x544f4f46,                   // "FOOT"
};
/// Returns the name of a record type: "DATA", or hexadecimal if it does not consist of four
/// letters.
std::string record_type_name(std::uint32_t type);

/// Offset of the first record.
inline constexpr std::uint64_t kFirstRecord = 48;
/// Number of payload bytes that one checksum covers.
inline constexpr std::uint64_t kChecksumRange = std::uint64_t{64} << 20;
/// Maximum size of structural records (all except data records).
inline constexpr std::uint64_t kMaxMessage = std::uint64_t{48} << 20;

struct Record {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;  // of the payload
  std::uint64_t length = 0;
  std::vector<std::uint32_t> crcs;
  bool is(RecordType t) const { return type == static_cast<std::uint32_t>(t); }
};

/// A fingerprint of a file. Files with different records have different fingerprints, except with a
/// probability of about 1 in 4e9.
struct FileFingerprint {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // of the index, which contains the checksums of all records
  friend bool operator==(const FileFingerprint&, const FileFingerprint&) = default;
};

/// Writes records in sequence. finish() adds the index and the footer and renames the file to its
/// final name.
class ContainerWriter {
 public:
  explicit ContainerWriter(const std::string& path) : ContainerWriter(path, path) {}
  /// Gives the new file the mode of the file `like`, if `like` exists.
  ContainerWriter(const std::string& path, const std::string& like);
  void add(RecordType type, const void* payload, std::size_t bytes);
  void add(RecordType type, const std::string& payload) {
    add(type, payload.data(), payload.size());
  }
  FileFingerprint finish();

 private:
  void put(RecordType type, const void* payload, std::size_t bytes);
  void pad();

  AtomicFile file_;
  std::vector<Record> records_;
};

/// The records of a mapped file. The constructor checks the whole structure and the checksums of
/// all structural records; check_data() checks the checksums of data records. Throws FormatError
/// with path and byte offset for any defect.
class Container {
 public:
  explicit Container(const std::string& path);
  const std::string& path() const { return file_->path(); }
  std::uint64_t bytes() const { return file_->bytes(); }
  FileFingerprint mark() const { return {bytes(), index_crc_}; }
  const std::vector<Record>& records() const { return records_; }
  const std::byte* payload(const Record& record) const { return file_->data() + record.offset; }
  /// All data records in order.
  const std::vector<Record>& data() const { return data_; }
  /// Checks all data records, and that all padding is zero. Returns true if the records contain
  /// only finite numbers. `numbers` contains the dtypes of those data records that are searched for
  /// NaN and infinities while their bytes are in the cache; records beyond its end are not
  /// searched.
  bool check_data(std::span<const std::optional<DType>> numbers = {}) const;
  /// The recorded result of an earlier check_data() of this file.
  Verified recorded() const;
  /// Records the result of check_data().
  void record(Verified result) const;
  /// Removes the recorded result.
  void forget() const;
  /// Returns a read-only tensor that views data record `number` (from 1). The record must have
  /// exactly the size of the tensor. `what` and `offset` (of the record that refers to the data)
  /// are used in error messages.
  Tensor tensor(DType dtype, const Sizes& sizes, std::uint64_t number, std::string_view what,
                std::uint64_t offset) const;
  /// Returns data record `number` (from 1). Throws FormatError if there is none.
  const Record& data_record(std::uint64_t number, std::string_view what,
                            std::uint64_t offset) const;
  /// Throws a FormatError with path, byte offset and `what`.
  [[noreturn]] void fail(std::uint64_t offset, std::string_view what) const;

 private:
  void walk();
  void read_index();
  bool check_record(const Record& record, std::optional<DType> numbers = {}) const;

  std::optional<FileIdentity> identity_;  // before the file was mapped
  std::shared_ptr<MappedFile> file_;
  std::shared_ptr<Buffer> buffer_;
  std::vector<Record> records_, data_;
  std::uint32_t index_crc_ = 0;
};

}  // namespace weft
