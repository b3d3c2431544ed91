#include "weft/serialization/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zip.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/checked_size.h"
#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/temporary_files.h"

namespace weft {
namespace {

constexpr std::pair<std::string_view, DType> kDescriptors[] = {
    {"<f4", DType::f32}, {"<f8", DType::f64}, {"<f2", DType::f16}, {"<i8", DType::i64},
    {"<i4", DType::i32}, {"|i1", DType::i8},  {"|u1", DType::u8},  {"|b1", DType::boolean}};
constexpr std::size_t kMagicBytes = 6, kMaxArrayHeader = std::size_t{1} << 16;
// The largest ratio of deflate, with which an archive can claim more bytes than it contains.
constexpr std::uint64_t kMostDeflated = 1032;
// The end of the directory of an archive without members: the signature and 18 zeros.
const std::string kEmptyArchive = std::string("PK\x05\x06") + std::string(18, '\0');

/// Returns NumPy's name for a dtype, including the byte order.
std::string_view descriptor(DType dtype) {
  for (const auto& [name, known] : kDescriptors) {
    if (known == dtype) return name;
  }
  throw DTypeError(
      fmt::format("NumPy files do not support {}: cast the tensor to f32", dtype_name(dtype)));
}

/// Returns the bytes before the data of an array.
std::string array_header(const Tensor& tensor) {
  constexpr std::size_t kAligned = 64, kInFront = 10;  // magic, version, length of the header
  std::string shape;
  for (const std::int64_t size : tensor.sizes()) shape += fmt::format("{},", size);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   descriptor(tensor.dtype()), shape);
  const std::size_t whole = (kInFront + header.size() + 1 + kAligned - 1) / kAligned * kAligned;
  header.resize(whole - kInFront - 1, ' ');
  header += '\n';
  return std::string(kNpyMagic) + '\x01' + '\0' + static_cast<char>(header.size() & 0xFF) +
         static_cast<char>(header.size() >> 8) + header;
}

/// A source of bytes: a file, or a member of an archive.
class Bytes {
 public:
  explicit Bytes(std::string name) : name_(std::move(name)) {}
  virtual ~Bytes() = default;
  /// Reads exactly this number of bytes.
  void read(void* to, std::size_t count) {
    auto* out = static_cast<char*>(to);
    while (count > 0) {
      const std::size_t got = read_some(out, count);
      if (got == 0) fail(fmt::format("the file ends {} bytes too early", count));
      out += got;
      count -= got;
      offset_ += got;
    }
  }
  bool at_end() {
    char next;
    return read_some(&next, 1) == 0;
  }
  [[noreturn]] void fail(std::string_view what) const {
    throw FormatError(fmt::format("{}: at byte {}: {}", name_, offset_, what));
  }

 protected:
  virtual std::size_t read_some(char* to, std::size_t most) = 0;

 private:
  std::string name_;
  std::uint64_t offset_ = 0;
};

class FileBytes : public Bytes {
 public:
  explicit FileBytes(const std::string& path)
      : Bytes(path), file_(path, {.max_bytes = kMaxTensorBytes}) {}

 private:
  std::size_t read_some(char* to, std::size_t most) override { return file_.read(to, most); }
  InputFile file_;
};

/// Reads the header, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (2,)}.
class HeaderScanner {
 public:
  HeaderScanner(std::string_view text, const Bytes& from) : text_(text), from_(from) {}

  void expect(std::string_view token) {
    if (!take(token)) from_.fail(fmt::format("'{}' expected in the header of the array", token));
  }
  bool take(std::string_view token) {
    while (text_.starts_with(' ')) text_.remove_prefix(1);
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  std::string_view quoted() {
    expect("'");
    const std::size_t end = text_.find('\'');
    if (end == std::string_view::npos) from_.fail("a string in the header has no end");
    const std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return found;
  }
  std::int64_t number() {
    take("");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc() || value < 0) from_.fail("the shape contains no valid size");
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return value;
  }

 private:
  std::string_view text_;
  const Bytes& from_;
};

DType parse_descriptor(std::string_view text, const Bytes& from) {
  for (const auto& [name, dtype] : kDescriptors) {
    if (text == name) return dtype;
  }
  if (text.starts_with('>')) {
    from.fail(fmt::format(
        "the array is big-endian ('{}'): convert it with a.astype(a.dtype.newbyteorder('<'))",
        excerpt(text)));
  }
  from.fail(
      fmt::format("dtype '{}' is not supported: convert the array, for example with "
                  "a.astype('float32')",
                  excerpt(text)));
}

std::pair<DType, Sizes> parse_header(std::string_view text, const Bytes& from) {
  HeaderScanner scan(text, from);
  std::optional<DType> dtype;
  std::optional<Sizes> sizes;
  bool columns = false;
  scan.expect("{");
  while (!scan.take("}")) {
    const std::string_view key = scan.quoted();
    scan.expect(":");
    if (key == "descr") {
      if (scan.take("[")) from.fail("arrays of structures are not supported");
      dtype = parse_descriptor(scan.quoted(), from);
    } else if (key == "fortran_order") {
      columns = scan.take("True");
      if (!columns) scan.expect("False");
    } else if (key == "shape") {
      scan.expect("(");
      sizes.emplace();
      while (!scan.take(")")) {
        sizes->push_back(scan.number());
        if (!scan.take(",")) {
          scan.expect(")");
          break;
        }
      }
    } else {
      from.fail(fmt::format("unknown key '{}' in the header of the array", excerpt(key)));
    }
    if (!scan.take(",")) {
      scan.expect("}");
      break;
    }
  }
  if (!dtype || !sizes) from.fail(fmt::format("the header lacks '{}'", !dtype ? "descr" : "shape"));
  const auto long_axes = std::count_if(sizes->begin(), sizes->end(), [](auto n) { return n > 1; });
  if (columns && long_axes > 1) {
    from.fail("the array is in column-major order: save numpy.ascontiguousarray(a)");
  }
  return {*dtype, *sizes};
}

/// Reads an array. `limit` bounds the number of bytes of its data.
Tensor read_array(Bytes& from, std::uint64_t limit) {
  unsigned char front[kMagicBytes + 2];
  from.read(front, sizeof(front));
  if (!std::equal(front, front + kMagicBytes, reinterpret_cast<const unsigned char*>(kNpyMagic)))
    from.fail("this is not a NumPy array");
  const int version = front[kMagicBytes];
  if (version < 1 || version > 3)
    from.fail(fmt::format("version {} of the format is not supported", version));
  unsigned char length[4] = {};
  from.read(length, version == 1 ? 2 : 4);
  std::size_t bytes = 0;
  for (int i = 3; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes > kMaxArrayHeader) from.fail(fmt::format("a header of {} bytes is too large", bytes));
  std::string header(bytes, '\0');
  from.read(header.data(), bytes);
  const auto [dtype, sizes] = parse_header(header, from);
  if (checked_tensor_bytes(dtype, sizes) > limit) {
    from.fail(
        fmt::format("{}[{}] does not fit in the file", dtype_name(dtype), fmt::join(sizes, ", ")));
  }
  Tensor tensor = Tensor::empty(dtype, sizes);
  from.read(tensor.mutable_raw(), tensor.bytes());
  if (!from.at_end()) from.fail("the file continues after the end of the array");
  return tensor;
}

/// An open archive. Errors contain the path.
class Archive {
 public:
  Archive(std::string path, int flags) : path_(std::move(path)) {
    int code = 0;
    zip_ = zip_open(path_.c_str(), flags, &code);
    if (zip_ != nullptr) return;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    const std::string reason = zip_error_strerror(&error);
    zip_error_fini(&error);
    if (code == ZIP_ER_OPEN || code == ZIP_ER_NOENT || code == ZIP_ER_READ)
      throw IoError(fmt::format("cannot open {}: {}", path_, reason));
    throw FormatError(
        fmt::format("{}: at byte 0: this is not a ZIP archive of arrays ({})", path_, reason));
  }
  ~Archive() {
    if (zip_ != nullptr) zip_discard(zip_);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  zip_t* get() const { return zip_; }
  const std::string& path() const { return path_; }
  std::string error() const { return zip_strerror(zip_); }
  void close() {
    if (zip_close(zip_) != 0)
      throw IoError(fmt::format("cannot write {}: {}", path_, zip_strerror(zip_)));
    zip_ = nullptr;
  }

 private:
  std::string path_;
  zip_t* zip_ = nullptr;
};

class MemberBytes : public Bytes {
 public:
  MemberBytes(const Archive& archive, zip_uint64_t index, const std::string& name)
      : Bytes(fmt::format("{}: member '{}'", archive.path(), excerpt(name))),
        file_(zip_fopen_index(archive.get(), index, 0)) {
    if (file_ == nullptr) fail(archive.error());
  }
  ~MemberBytes() override {
    if (file_ != nullptr) zip_fclose(file_);
  }
  MemberBytes(const MemberBytes&) = delete;
  MemberBytes& operator=(const MemberBytes&) = delete;

 private:
  std::size_t read_some(char* to, std::size_t most) override {
    const zip_int64_t got = zip_fread(file_, to, most);
    if (got < 0) fail(zip_file_strerror(file_));
    return static_cast<std::size_t>(got);
  }
  zip_file_t* file_;
};

}  // namespace

void write_npy(const std::string& path, const Tensor& tensor) {
  const std::string header = array_header(tensor);
  AtomicFile file(path);
  file.write(header.data(), header.size());
  file.write(tensor.raw(), tensor.bytes());
  file.commit();
}

Tensor read_npy(const std::string& path) {
  FileBytes bytes(path);
  return read_array(bytes, std::filesystem::file_size(path));
}

void write_npz(const std::string& path, const TensorMap& tensors) {
  struct Member {
    std::string header;
    zip_buffer_fragment_t parts[2];
  };
  if (tensors.empty()) {  // libzip would remove the file
    AtomicFile file(path);
    file.write(kEmptyArchive.data(), kEmptyArchive.size());
    return file.commit();
  }
  std::vector<std::unique_ptr<Member>> members;  // libzip reads them when the archive is closed
  // libzip writes to a temporary file in the same folder and renames it.
  Archive archive(follow_links(path), ZIP_CREATE | ZIP_TRUNCATE);
  for (const auto& [name, tensor] : tensors) {
    auto member = std::make_unique<Member>();
    try {
      member->header = array_header(tensor);
    } catch (const DTypeError& e) {
      throw DTypeError(fmt::format("tensor '{}': {}", excerpt(name), e.what()));
    }
    const auto bytes_of = [](const void* data) {
      return const_cast<zip_uint8_t*>(static_cast<const zip_uint8_t*>(data));
    };
    member->parts[0] = {bytes_of(member->header.data()), member->header.size()};
    member->parts[1] = {bytes_of(tensor.raw()), tensor.bytes()};
    zip_source_t* source = zip_source_buffer_fragment(archive.get(), member->parts, 2, 0);
    const zip_int64_t index =
        source == nullptr
            ? -1
            : zip_file_add(archive.get(), (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    if (index < 0 || zip_set_file_compression(archive.get(), static_cast<zip_uint64_t>(index),
                                              ZIP_CM_STORE, 0) != 0) {
      const std::string reason = archive.error();
      if (index < 0) zip_source_free(source);
      throw IoError(fmt::format("cannot add tensor '{}' to {}: {}", excerpt(name), path, reason));
    }
    members.push_back(std::move(member));
  }
  archive.close();
}

TensorMap read_npz(const std::string& path) {
  constexpr std::string_view kEnding = ".npy";
  const Archive archive(path, ZIP_RDONLY | ZIP_CHECKCONS);
  const std::uint64_t size = std::filesystem::file_size(path);
  TensorMap tensors;
  for (zip_int64_t i = 0; i < zip_get_num_entries(archive.get(), 0); ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    const char* found = zip_get_name(archive.get(), index, 0);
    const std::string name = found != nullptr ? found : "";
    MemberBytes bytes(archive, index, name);
    if (!name.ends_with(kEnding)) bytes.fail("this is not an array (NAME.npy)");
    Tensor tensor = read_array(bytes, (CheckedSize(size) * kMostDeflated).value());
    const std::string stem = name.substr(0, name.size() - kEnding.size());
    if (!tensors.emplace(stem, std::move(tensor)).second) bytes.fail("this array occurs twice");
  }
  return tensors;
}

bool is_npz(const std::string& path) {
  // A member starts with its signature, 22 bytes of numbers, the lengths of its name and of further
  // data, and the name.
  constexpr std::size_t kLengthAt = 26, kNameAt = 30, kMost = 4096;
  const std::string head = first_bytes(path, kMost);
  if (head == kEmptyArchive) return true;
  if (!head.starts_with("PK\x03\x04") || head.size() < kNameAt) return false;
  const std::size_t length = static_cast<unsigned char>(head[kLengthAt]) |
                             static_cast<unsigned char>(head[kLengthAt + 1]) << 8;
  return std::string_view(head).substr(kNameAt, length).ends_with(".npy");
}

}  // namespace weft
