#include "weft/serialization/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "weft/core/error.h"
#include "weft/graph/engine/nonfinite.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft_proto/weft.pb.h"

namespace weft {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::uint64_t kAlignment = 64, kHead = 16, kStart = kFirstRecord;
static_assert(kStart == kAlignment - kHead);  // aligns the payload of the first record
constexpr char kMagic[] = {'\x89', 'w', 'e', 'f', 't', '\r', '\n', '\x1a'};
constexpr std::uint32_t kContainerVersion = 1;
constexpr std::uint64_t kFooterBytes = 24;

template <class T>
T read_number(const std::byte* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

// Returns the offset of the next record's head after a payload that ends at `end`.
CheckedSize next_head(CheckedSize end) {
  return (end + (kAlignment - 1) + kHead).value() / kAlignment * kAlignment - kHead;
}

std::vector<std::uint32_t> checksums(const void* payload, std::uint64_t bytes) {
  std::vector<std::uint32_t> crcs;
  const auto* p = static_cast<const char*>(payload);
  for (std::uint64_t at = 0; at < bytes; at += kChecksumRange) {
    crcs.push_back(crc32c(p + at, std::min(kChecksumRange, bytes - at)));
  }
  return crcs;
}

}  // namespace

std::string record_type_name(std::uint32_t type) {
  std::string name;
  for (int i = 0; i < 4; ++i) name += static_cast<char>(type >> (8 * i));
  const bool word =
      std::all_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  return word ? name : fmt::format("0x{:08x}", type);
}

ContainerWriter::ContainerWriter(const std::string& path, const std::string& like)
    : file_(path, like) {
  char start[kStart] = {};
  std::memcpy(start, kMagic, sizeof(kMagic));
  std::memcpy(start + sizeof(kMagic), &kContainerVersion, sizeof(kContainerVersion));
  file_.write(start, sizeof(start));
}

void ContainerWriter::pad() {
  static constexpr char kZeros[kAlignment] = {};
  const std::uint64_t at = file_.written();
  file_.write(kZeros, static_cast<std::size_t>(next_head(at).value() - at));
}

void ContainerWriter::put(RecordType type, const void* payload, std::size_t bytes) {
  char head[kHead] = {};
  const auto number = static_cast<std::uint32_t>(type);
  const std::uint64_t length = bytes;
  std::memcpy(head, &number, 4);
  std::memcpy(head + 8, &length, 8);
  file_.write(head, kHead);
  file_.write(payload, bytes);
}

void ContainerWriter::add(RecordType type, const void* payload, std::size_t bytes) {
  if (type != RecordType::data && bytes > kMaxMessage) {
    throw FormatError(fmt::format("a {} record of {} bytes is too large to save; the limit is {}",
                                  record_type_name(static_cast<std::uint32_t>(type)), bytes,
                                  kMaxMessage));
  }
  const std::uint64_t offset = file_.written() + kHead;
  put(type, payload, bytes);
  pad();
  records_.push_back({static_cast<std::uint32_t>(type), offset, bytes, checksums(payload, bytes)});
}

FileFingerprint ContainerWriter::finish() {
  v1::Index index;
  for (const Record& r : records_) {
    v1::IndexEntry& entry = *index.add_records();
    entry.set_type(r.type);
    entry.set_offset(r.offset);
    entry.set_length(r.length);
    for (const std::uint32_t crc : r.crcs) entry.add_crcs(crc);
  }
  const std::string bytes = index.SerializeAsString();
  const std::uint64_t offset = file_.written() + kHead, length = bytes.size();
  if (length > kMaxMessage) {
    throw FormatError(fmt::format("the file has too many records ({}) to index", records_.size()));
  }
  put(RecordType::index, bytes.data(), bytes.size());
  pad();
  char footer[kFooterBytes];
  const std::uint32_t crc = crc32c(bytes.data(), bytes.size());
  std::memcpy(footer, &offset, 8);
  std::memcpy(footer + 8, &length, 8);
  std::memcpy(footer + 16, &crc, 4);
  const std::uint32_t own = crc32c(footer, 20);
  std::memcpy(footer + 20, &own, 4);
  put(RecordType::footer, footer, kFooterBytes);
  file_.commit();
  return {file_.written(), crc};
}

Container::Container(const std::string& path)
    : identity_(FileIdentity::of(path)), file_(MappedFile::open(path)) {
  buffer_ = Buffer::borrow(const_cast<std::byte*>(file_->data()), file_->bytes(), file_, false);
  walk();
  read_index();
}

void Container::fail(std::uint64_t offset, std::string_view what) const {
  throw FormatError(fmt::format("\"{}\" at byte {}: {}", file_->path(), offset, what));
}

void Container::walk() {
  const std::byte* p = file_->data();
  const std::uint64_t size = file_->bytes();
  if (size < sizeof(kMagic) || std::memcmp(p, kMagic, sizeof(kMagic)) != 0) {
    const std::string_view head(reinterpret_cast<const char*>(p), size);
    fail(0, "this is not a .weft file: it does not start with the magic number" +
                foreign_hint(head, file_->path()));
  }
  if (size < kStart) fail(size, "the file ends within its first 48 bytes");
  const auto version = read_number<std::uint32_t>(p + sizeof(kMagic));
  if (version != kContainerVersion) {
    fail(sizeof(kMagic),
         fmt::format("the container has version {}; this program supports version {}", version,
                     kContainerVersion));
  }
  for (std::uint64_t at = sizeof(kMagic) + 4; at < kStart; ++at) {
    if (p[at] != std::byte{0}) fail(at, "a reserved byte is not zero");
  }
  for (std::uint64_t head = kStart;;) {
    if (size - head < kHead) fail(head, "the file ends before the footer: it is truncated");
    Record r;
    r.type = read_number<std::uint32_t>(p + head);
    r.length = read_number<std::uint64_t>(p + head + 8);
    r.offset = head + kHead;
    if (read_number<std::uint32_t>(p + head + 4) != 0)
      fail(head + 4, "a reserved number is not zero");
    if (r.length > size - r.offset) {
      fail(head, fmt::format("a {} record declares {} bytes, but only {} are left",
                             record_type_name(r.type), r.length, size - r.offset));
    }
    if (!r.is(RecordType::data) && r.length > kMaxMessage) {
      fail(head, fmt::format("a {} record has {} bytes; the limit is {}", record_type_name(r.type),
                             r.length, kMaxMessage));
    }
    records_.push_back(r);
    if (r.is(RecordType::footer)) {
      if (r.offset + r.length != size)
        fail(r.offset + r.length, "there are unexpected bytes after the footer");
      return;
    }
    head = next_head(CheckedSize(r.offset) + r.length).value();
    if (head > size) fail(size, "the file ends before the footer: it is truncated");
  }
}

void Container::read_index() {
  const Record footer = records_.back();
  records_.pop_back();
  const std::byte* f = payload(footer);
  if (footer.length != kFooterBytes || crc32c(f, 20) != read_number<std::uint32_t>(f + 20)) {
    fail(footer.offset, "the footer is damaged");
  }
  if (records_.empty() || !records_.back().is(RecordType::index)) {
    fail(footer.offset, "the record before the footer is not the index");
  }
  const Record index_record = records_.back();
  records_.pop_back();
  if (read_number<std::uint64_t>(f) != index_record.offset ||
      read_number<std::uint64_t>(f + 8) != index_record.length) {
    fail(footer.offset, "the footer does not point to the index");
  }
  const std::byte* bytes = payload(index_record);
  v1::Index index;
  index_crc_ = read_number<std::uint32_t>(f + 16);
  if (crc32c(bytes, index_record.length) != index_crc_ ||
      !index.ParseFromArray(bytes, static_cast<int>(index_record.length))) {
    fail(index_record.offset, "the index is damaged (its checksum differs)");
  }
  if (static_cast<std::size_t>(index.records_size()) != records_.size()) {
    fail(index_record.offset, fmt::format("the index lists {} records, but the file has {}",
                                          index.records_size(), records_.size()));
  }
  for (std::size_t i = 0; i < records_.size(); ++i) {
    Record& r = records_[i];
    const v1::IndexEntry& entry = index.records(static_cast<int>(i));
    const std::uint64_t ranges = r.length / kChecksumRange + (r.length % kChecksumRange != 0);
    if (entry.type() != r.type || entry.offset() != r.offset || entry.length() != r.length ||
        static_cast<std::uint64_t>(entry.crcs_size()) != ranges) {
      fail(r.offset - kHead, "this record does not match its entry in the index");
    }
    r.crcs.assign(entry.crcs().begin(), entry.crcs().end());
    if (r.is(RecordType::data)) {
      data_.push_back(r);
    } else {
      check_record(r);
    }
  }
}

bool Container::check_record(const Record& r, std::optional<DType> numbers) const {
  // Both passes read a block of this size while it is in the L2 cache.
  constexpr std::uint64_t kBlock = std::uint64_t{256} << 10;
  bool finite = true;
  for (std::size_t i = 0; i < r.crcs.size(); ++i) {
    const std::uint64_t begin = i * kChecksumRange,
                        end = std::min(begin + kChecksumRange, r.length);
    std::uint32_t crc = 0;
    for (std::uint64_t at = begin; at < end; at += kBlock) {
      const std::uint64_t bytes = std::min(kBlock, end - at);
      crc = crc32c(payload(r) + at, bytes, crc);
      if (!finite || !numbers) continue;
      const auto count = static_cast<std::int64_t>(bytes / dtype_size(*numbers));
      finite = !first_nonfinite(Tensor::view(*numbers, {count}, buffer_, r.offset + at));
    }
    if (crc != r.crcs[i]) {
      fail(r.offset + begin,
           fmt::format("a {} record is damaged: the checksum of {} bytes does not match",
                       record_type_name(r.type), end - begin));
    }
  }
  return finite;
}

Verified Container::recorded() const {
  return identity_ ? recorded_verification(*identity_, index_crc_) : Verified::no;
}

void Container::record(Verified result) const {
  if (identity_) record_verification(path(), *identity_, index_crc_, result);
}

void Container::forget() const {
  if (identity_) forget_verification(*identity_);
}

bool Container::check_data(std::span<const std::optional<DType>> numbers) const {
  bool finite = true;
  for (std::size_t i = 0; i < data_.size(); ++i)
    finite &= check_record(data_[i], i < numbers.size() ? numbers[i] : std::nullopt);
  std::uint64_t end = kStart;  // end of the part checked so far
  for (const Record& r : records_) {
    for (std::uint64_t at = end; at < r.offset - kHead; ++at) {
      if (file_->data()[at] != std::byte{0}) fail(at, "a padding byte is not zero");
    }
    end = r.offset + r.length;
  }
  // Check the padding between the last record and the index, and between the index and the footer.
  const std::uint64_t footer = file_->bytes() - kFooterBytes;
  const auto index = read_number<std::uint64_t>(file_->data() + footer);
  const auto length = read_number<std::uint64_t>(file_->data() + footer + 8);
  for (const auto& [from, to] :
       {std::pair(end, index - kHead), std::pair(index + length, footer - kHead)}) {
    for (std::uint64_t at = from; at < to; ++at) {
      if (file_->data()[at] != std::byte{0}) fail(at, "a padding byte is not zero");
    }
  }
  return finite;
}

const Record& Container::data_record(std::uint64_t number, std::string_view what,
                                     std::uint64_t offset) const {
  if (number == 0 || number > data_.size()) {
    fail(offset, fmt::format("{} is in data record {}, but the file has {} data records", what,
                             number, data_.size()));
  }
  return data_[number - 1];
}

Tensor Container::tensor(DType dtype, const Sizes& sizes, std::uint64_t number,
                         std::string_view what, std::uint64_t offset) const {
  const Record& r = data_record(number, what, offset);
  std::uint64_t bytes = 0;
  try {
    bytes = checked_tensor_bytes(dtype, sizes);
  } catch (const FormatError& e) {
    fail(offset, fmt::format("{}: {}", what, e.what()));
  }
  if (bytes != r.length) {
    fail(offset, fmt::format("{} is {}{}, which needs {} bytes, but its data has {} bytes", what,
                             dtype_name(dtype), to_string(sizes), bytes, r.length));
  }
  if (dtype == DType::boolean) {
    const std::byte* p = payload(r);
    const std::byte* wrong =
        std::find_if(p, p + bytes, [](std::byte b) { return b > std::byte{1}; });
    if (wrong != p + bytes) {
      fail(r.offset + static_cast<std::uint64_t>(wrong - p),
           fmt::format("{} is bool, but this byte is neither 0 nor 1", what));
    }
  }
  return Tensor::view(dtype, sizes, buffer_, static_cast<std::size_t>(r.offset));
}

}  // namespace weft
