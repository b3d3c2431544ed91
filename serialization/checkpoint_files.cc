#include "weft/serialization/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/temporary_files.h"
#include "weft/serialization/graph_proto.h"
#include "weft/serialization/shard_names.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// Reads the header and checks the format version.
v1::Header read_header(const Container& file) {
  const Record* head = find_record(file, RecordType::header);
  if (head == nullptr || head != &file.records()[0]) {
    file.fail(kFirstRecord, "the first record is not the header");
  }
  auto header = parse_record<v1::Header>(file, *head);
  if (header.format_version() != kFormatVersion) {
    file.fail(head->offset,
              fmt::format("the file has format version {}; this program supports version {}",
                          header.format_version(), kFormatVersion));
  }
  return header;
}

v1::Shards read_shards(const Container& file, const Record& record) {
  auto shards = parse_record<v1::Shards>(file, record);
  const std::string& name = shards.name();
  // Shards must be in the folder of the checkpoint, so names with slashes are rejected.
  if (name.empty() || name.size() > kMaxShardedName ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    file.fail(record.offset, fmt::format("'{}' is not a valid name for shards", excerpt(name)));
  }
  const auto count = static_cast<std::uint64_t>(shards.shards_size());
  if (count == 0 || count > kMaxShards)
    file.fail(record.offset, fmt::format("the file lists {} shards; the number must be 1 to {}",
                                         count, kMaxShards));
  return shards;
}

/// Returns true if the checkpoint at `path` no longer refers to the shards `name`, because another
/// save has replaced it.
bool is_replaced(const std::string& path, const std::string& name) {
  try {
    return name_of_shards(path) != name;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

const Record* find_record(const Container& file, RecordType type) {
  for (const Record& r : file.records()) {
    if (r.is(type)) return &r;
  }
  return nullptr;
}

const Record& variables_record(const Container& file) {
  const Record* variables = find_record(file, RecordType::variables);
  if (variables == nullptr && parse_shard_name(fs::path(file.path()).filename().string())) {
    file.fail(file.bytes(), "this is a shard of a checkpoint; load the main file instead");
  }
  if (variables == nullptr) file.fail(file.bytes(), "the file has no list of variables");
  return *variables;
}

std::string name_of_shards(const std::string& path) {
  const Container file(path);
  const Record* record = find_record(file, RecordType::shards);
  return record == nullptr ? std::string() : read_shards(file, *record).name();
}

CheckpointFiles::CheckpointFiles(const std::string& path) : main_(path) {
  for (;;) {
    producer_ = read_header(main_).producer();
    const Record* record = find_record(main_, RecordType::shards);
    if (record == nullptr) return;
    try {
      open_shards(*record);
      return;
    } catch (const IoError&) {
      // A concurrent training run may have replaced the checkpoint and removed the old shards.
      if (!is_replaced(path, read_shards(main_, *record).name())) throw;
      main_ = Container(path);
    }
  }
}

void CheckpointFiles::open_shards(const Record& record) {
  shards_.clear();
  taken_.clear();
  const v1::Shards list = read_shards(main_, record);
  const fs::path folder = folder_of(follow_links(main_.path()));
  const auto count = static_cast<std::uint64_t>(list.shards_size());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string name = shard_name(list.name(), i + 1, count);
    const v1::Shard& expected = list.shards(static_cast<int>(i));
    try {
      shards_.emplace_back((folder / name).string());
    } catch (const IoError& e) {
      throw IoError(fmt::format("\"{}\" consists of {} shards in the same folder: {}", main_.path(),
                                count, e.what()));
    }
    const Container& shard = shards_.back();
    read_header(shard);
    if (shard.mark() != FileFingerprint{expected.bytes(), expected.crc()}) {
      main_.fail(
          record.offset,
          fmt::format("the shard {} has {} bytes and checksum {:08x}, but {} bytes and checksum "
                      "{:08x} were expected: the shard belongs to another save",
                      name, shard.bytes(), shard.mark().crc, expected.bytes(), expected.crc()));
    }
    taken_.emplace_back(shard.data().size(), false);
  }
}

std::uint64_t CheckpointFiles::bytes() const {
  std::uint64_t sum = main_.bytes();
  for (const Container& shard : shards_) sum += shard.bytes();
  return sum;
}

bool CheckpointFiles::check_data(const v1::Variables& manifest, bool once) const {
  const Verified recorded = once ? main_.recorded() : Verified::no;
  const auto is_recorded = [](const Container& file) { return file.recorded() != Verified::no; };
  if (recorded != Verified::no && std::all_of(shards_.begin(), shards_.end(), is_recorded))
    return recorded == Verified::finite;
  const bool finite = check_numbers(manifest);
  if (!once) return finite;
  // The record of the main file states whether the numbers in all files are finite.
  main_.record(finite ? Verified::finite : Verified::intact);
  for (const Container& shard : shards_) shard.record(Verified::intact);
  return finite;
}

bool CheckpointFiles::check_numbers(const v1::Variables& manifest) const {
  // The dtypes of the data records with parameters and optimizer variables, by file. Invalid
  // references are reported when the values are read.
  std::vector<std::vector<std::optional<DType>>> numbers(1 + shards_.size());
  bool finite = true;
  const auto add = [&](std::uint64_t file, std::uint64_t data, DType dtype) {
    if (file >= numbers.size()) return;
    const Container& container = file == 0 ? main_ : shards_[file - 1];
    if (data == 0 || data > container.data().size()) return;
    numbers[file].resize(container.data().size());
    std::optional<DType>& searched = numbers[file][data - 1];
    // Only a crafted file has numbers of two dtypes in one record, which one pass cannot search.
    if (searched && *searched != dtype) finite = false;
    searched = dtype;
  };
  for (const v1::Variable& v : manifest.variables()) {
    try {
      const VariableKind kind = GraphReader::kind(v.kind());
      if (kind != VariableKind::parameter && kind != VariableKind::optimizer) continue;
      const DType dtype = GraphReader::dtype(v.type().dtype());
      add(0, v.data(), dtype);
      for (const v1::Piece& piece : v.pieces()) add(piece.shard(), piece.data(), dtype);
    } catch (const FormatError&) {  // reported when the variables are read
    }
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const Container& file = i == 0 ? main_ : shards_[i - 1];
    try {
      finite &= file.check_data(numbers[i]);
    } catch (const Error&) {
      file.forget();  // it was damaged without a change of its modification time
      throw;
    }
  }
  return finite;
}

Tensor CheckpointFiles::value(const v1::Variable& variable, DType dtype, const Sizes& sizes,
                              const Record& variables) {
  if (variable.pieces_size() > 0) return join(variable, dtype, sizes, variables);
  return main_.tensor(dtype, sizes, variable.data(), fmt::format("variable '{}'", variable.name()),
                      variables.offset);
}

Tensor CheckpointFiles::join(const v1::Variable& variable, DType dtype, const Sizes& sizes,
                             const Record& variables) {
  const std::string what = fmt::format("variable '{}'", variable.name());
  const auto fail = [&](const std::string& why) {
    main_.fail(variables.offset, fmt::format("{} {}", what, why));
  };
  if (variable.data() != 0) fail("has both a data record in this file and pieces in shards");
  CheckedSize bytes = 0;
  for (const v1::Piece& piece : variable.pieces()) {
    if (piece.shard() == 0 || piece.shard() > shards_.size())
      fail(fmt::format("is in shard {}, but the number of shards is {}", piece.shard(),
                       shards_.size()));
    const Container& shard = shards_[piece.shard() - 1];
    std::vector<bool>& taken = taken_[piece.shard() - 1];
    if (piece.data() == 0 || piece.data() > taken.size()) {
      fail(fmt::format("is in data record {} of shard {}, which has {} data records", piece.data(),
                       piece.shard(), taken.size()));
    }
    if (taken[piece.data() - 1]) {
      fail(fmt::format("has a piece that is already in use: data record {} of shard {}",
                       piece.data(), piece.shard()));
    }
    taken[piece.data() - 1] = true;
    bytes = bytes + shard.data()[piece.data() - 1].length;
  }
  const auto wanted = [&] {
    try {
      return checked_tensor_bytes(dtype, sizes);
    } catch (const FormatError& e) {
      main_.fail(variables.offset, fmt::format("{}: {}", what, e.what()));
    }
  }();
  if (bytes.value() != wanted) {
    fail(fmt::format("is {}{}, which needs {} bytes, but its pieces have {} bytes",
                     dtype_name(dtype), to_string(sizes), wanted, bytes.value()));
  }
  const auto view = [&](const v1::Piece& piece, const Sizes& of) {
    const Container& shard = shards_[piece.shard() - 1];
    return shard.tensor(dtype, of, piece.data(), what, shard.data()[piece.data() - 1].offset);
  };
  if (variable.pieces_size() == 1) return view(variable.pieces(0), sizes);
  Tensor whole = Tensor::empty(dtype, sizes);
  auto* to = static_cast<std::byte*>(whole.mutable_raw());
  const std::uint64_t size = dtype_size(dtype);
  for (const v1::Piece& piece : variable.pieces()) {
    const std::uint64_t length = shards_[piece.shard() - 1].data()[piece.data() - 1].length;
    if (length % size != 0)
      fail(fmt::format("has a piece of {} bytes, which is not a multiple of the element size",
                       length));
    const Tensor part = view(piece, {static_cast<std::int64_t>(length / size)});
    if (length > 0) std::memcpy(to, part.raw(), length);
    to += length;
  }
  return whole.read_only();
}

}  // namespace weft
