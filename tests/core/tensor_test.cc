#include "weft/core/tensor.h"

#include <stdlib.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

using namespace weft;

namespace {

using weft::testing::says_exactly;

// A temporary file that is removed at the end of the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content) {
    const char* dir = std::getenv("TMPDIR");
    path_ = std::string(dir != nullptr ? dir : "/tmp") + "/weft_core_XXXXXX";
    const int fd = ::mkstemp(path_.data());
    BOOST_REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr DType kAll[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                          DType::i32, DType::i8,  DType::u8,   DType::boolean};
constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin64 = std::numeric_limits<std::int64_t>::min();

}  // namespace

BOOST_AUTO_TEST_SUITE(tensor)

BOOST_AUTO_TEST_CASE(allocation_is_aligned) {
  for (std::size_t bytes : {0, 1, 63, 64, 100, 4097, (2 << 20) - 1, 2 << 20, (6 << 20) + 5}) {
    auto buffer = Buffer::allocate(bytes);
    BOOST_TEST(buffer->bytes() == bytes);
    BOOST_REQUIRE(buffer->data() != nullptr);
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(buffer->data()) % kTensorAlignment == 0u);
    if (bytes >= 2 << 20) {
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(buffer->data()) % (2 << 20) == 0u);
    }
    std::memset(buffer->data(), 1, bytes);
    BOOST_TEST(buffer->writable());
  }
}

BOOST_AUTO_TEST_CASE(tensors_allocated_together_share_one_block) {
  std::vector<Tensor> tensors = Tensor::empty_together({{DType::f32, {1000, 600}},
                                                        {DType::i8, {3}},
                                                        {DType::f64, {0}},
                                                        {DType::f32, {5 << 20}},
                                                        {DType::bf16, {7, 4096}}});
  BOOST_REQUIRE(tensors.size() == 5u);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    Tensor& t = tensors[i];
    BOOST_TEST(t.buffer()->bytes() == t.bytes());
    BOOST_TEST(t.buffer().use_count() == 1);  // so it may be written in place
    BOOST_TEST(reinterpret_cast<std::uintptr_t>(t.raw()) % kTensorAlignment == 0u);
    std::memset(t.mutable_raw(), static_cast<int>(i) + 1, t.bytes());
  }
  // Small tensors are adjacent in one block; a tensor that spans several pages begins on its own
  // page.
  BOOST_TEST((tensors[4].raw() - tensors[0].raw()) == 4096 * 586);
  BOOST_TEST((tensors[1].raw() - tensors[0].raw()) == 2400000);
  BOOST_TEST((tensors[0].raw()[2399999] == std::byte{1}));
  const Tensor last = tensors[4];
  tensors.clear();
  BOOST_TEST((last.raw()[0] == std::byte{5}));
  BOOST_TEST(Tensor::empty_together({}).empty());
}

BOOST_AUTO_TEST_CASE(impossible_allocations_are_rejected) {
  BOOST_CHECK_EXCEPTION(Buffer::allocate(std::numeric_limits<std::size_t>::max()), StateError,
                        says_exactly("out of memory: cannot allocate 18446744073709551615 bytes"));
  BOOST_CHECK_EXCEPTION(Tensor::empty(DType::f64, {kMax64 / 4}), ShapeError,
                        says_exactly("f64[2305843009213693951]: size overflows the address space"));
  BOOST_CHECK_EXCEPTION(Tensor::empty(DType::f32, {-1}), ShapeError,
                        says_exactly("size -1 of axis 0 of [-1] is negative"));
}

BOOST_AUTO_TEST_CASE(sizes_in_bytes_are_bounded_and_never_wrap_around) {
  constexpr std::int64_t k31 = std::int64_t{1} << 31, k45 = std::int64_t{1} << 45;
  BOOST_TEST(tensor_bytes(DType::f32, {}) == 4u);
  BOOST_TEST(tensor_bytes(DType::f64, {3, 5}) == 120u);
  BOOST_TEST(tensor_bytes(DType::f64, {3, 0, 5}) == 0u);
  BOOST_TEST(tensor_bytes(DType::f32, {k45}) == kMaxTensorBytes);
  for (const Sizes& sizes : {Sizes{k31, k31}, Sizes{k45 + 1}, Sizes{kMax64},
                             Sizes{1, kMax64, kMax64}, Sizes{4, kMax64 / 8 + 1}}) {
    BOOST_CHECK_EXCEPTION(
        tensor_bytes(DType::f32, sizes), ShapeError,
        says_exactly("f32" + to_string(sizes) + ": size overflows the address space"));
    BOOST_CHECK_THROW(Tensor::empty(DType::f32, sizes), ShapeError);
  }
  // Axes of size 0, in any position, do not hide an overflow of the product of the other sizes.
  for (const Sizes& sizes : {Sizes{0, k31, k31}, Sizes{k31, k31, 0}, Sizes{k31, 0, k31}}) {
    BOOST_CHECK_EXCEPTION(
        Tensor::empty(DType::f32, sizes), ShapeError,
        says_exactly("f32" + to_string(sizes) +
                     ": size overflows the address space (axes of size 0 ignored)"));
    BOOST_CHECK_THROW(Tensor::zeros(DType::f32, {0}).reshape(sizes), ShapeError);
  }
  BOOST_TEST(Tensor::empty(DType::f32, {0, k31}).numel() == 0);
}

BOOST_AUTO_TEST_CASE(a_read_only_handle_shares_the_memory) {
  Tensor t = Tensor::of<float>({4}, {1, 2, 3, 4});
  Tensor view = Tensor::view(DType::f32, {2}, t.buffer(), 8);
  Tensor shown = view.read_only();
  BOOST_TEST(shown.raw() == view.raw());
  BOOST_TEST(shown.at(1) == 4);
  BOOST_CHECK_THROW(shown.mutable_raw(), StateError);
  view.fill(7);
  BOOST_TEST(shown.at(0) == 7);
  BOOST_TEST(shown.read_only().raw() == shown.raw());
  t = Tensor(), view = Tensor();
  BOOST_TEST(shown.at(0) == 7);
}

BOOST_AUTO_TEST_CASE(borrowed_buffers_keep_and_then_release_their_owner) {
  auto owner = std::make_shared<int>(7);
  std::weak_ptr<int> watch = owner;
  float data[4] = {1, 2, 3, 4};
  auto buffer = Buffer::borrow(data, sizeof(data), std::move(owner), false);
  Tensor t = Tensor::view(DType::f32, {2}, buffer, 8);
  buffer.reset();
  BOOST_TEST(!watch.expired());
  BOOST_TEST(t.at(0) == 3.0);
  BOOST_CHECK_EXCEPTION(
      t.mutable_raw(), StateError,
      says_exactly(
          "the buffer of f32[2] is read-only (a mapped file, const memory, or the value of a "
          "variable): clone() the tensor to get a writable copy"));
  Tensor copy = t.clone();
  copy.mutable_data<float>()[0] = 9;
  BOOST_TEST(data[2] == 3.0f);
  t = Tensor();
  BOOST_TEST(watch.expired());
  BOOST_CHECK_EXCEPTION(Buffer::borrow(nullptr, 3, nullptr, true), ArgumentError,
                        says_exactly("cannot borrow 3 bytes from a null pointer"));
  // Tensors without elements have a non-null address, because kernels do pointer arithmetic with
  // it.
  const Tensor nothing = Tensor::borrow(DType::f32, {0}, nullptr);
  BOOST_TEST(nothing.numel() == 0);
  BOOST_TEST(nothing.raw() != nullptr);
}

BOOST_AUTO_TEST_CASE(invalid_views_are_rejected) {
  auto buffer = Buffer::allocate(16);
  BOOST_TEST(Tensor::view(DType::f32, {4}, buffer).bytes() == 16u);
  BOOST_TEST(Tensor::view(DType::f32, {0}, buffer, 16).bytes() == 0u);
  BOOST_TEST(Tensor::view(DType::i8, {1}, buffer, 15).byte_offset() == 15u);
  BOOST_CHECK_EXCEPTION(
      Tensor::view(DType::f32, {2, 2}, buffer, 4), ShapeError,
      says_exactly("f32[2, 2] needs 16 bytes at offset 4, but the buffer has 16 bytes"));
  BOOST_CHECK_EXCEPTION(Tensor::view(DType::f32, {0}, buffer, 20), ShapeError,
                        says_exactly("f32[0] needs 0 bytes at offset 20, but the buffer has 16 "
                                     "bytes"));
  BOOST_CHECK_EXCEPTION(
      Tensor::view(DType::f32, {1}, buffer, 2), ShapeError,
      says_exactly("byte offset 2 is not a multiple of 4 bytes, the element size of f32"));
  BOOST_CHECK_EXCEPTION(Tensor::borrow(DType::f32, {1}, buffer->data() + 1), ShapeError,
                        says_exactly("the address of the buffer is not a multiple of 4 bytes, the "
                                     "element size of f32: copy the "
                                     "data first"));
  BOOST_CHECK_EXCEPTION(Tensor::view(DType::f32, {1}, nullptr), ArgumentError,
                        says_exactly("Tensor::view needs a buffer, not null"));
}

BOOST_AUTO_TEST_CASE(tensors_can_be_constructed_and_accessed) {
  Tensor t = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  BOOST_TEST(t.rank() == 2);
  BOOST_TEST(t.numel() == 6);
  BOOST_TEST(t.bytes() == 24u);
  BOOST_TEST(t.size(-1) == 3);
  BOOST_TEST(t.size(0) == 2);
  BOOST_CHECK_EXCEPTION(t.size(2), ShapeError,
                        says_exactly("axis 2 is out of range for rank 2: it must be in -2..1"));
  BOOST_TEST(t.at(5) == 6.0);
  BOOST_TEST(t.type_str() == "f32[2, 3]");
  BOOST_TEST(t.str() == "f32[2, 3] {1, 2, 3, 4, 5, 6}");
  BOOST_TEST((t.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6}));
  BOOST_TEST(t.span<float>().size() == 6u);

  Tensor shared = t;
  shared.mutable_data<float>()[0] = 10;
  BOOST_TEST(t.at(0) == 10.0);
  Tensor r = t.reshape({3, 2});
  BOOST_TEST((r.buffer() == t.buffer()));
  BOOST_TEST(r.type_str() == "f32[3, 2]");
  BOOST_TEST(Tensor::scalar(DType::i32, 4).item<std::int32_t>() == 4);
  BOOST_TEST(Tensor::zeros(DType::bf16, {3}).at(2) == 0.0);
  BOOST_TEST(Tensor::full(DType::boolean, {9}, 2.0).str() ==
             "bool[9] {true, true, true, true, true, true, true, true, ...}");
  BOOST_TEST(Tensor::full(DType::u8, {2}, 300.0).str() == "u8[2] {255, 255}");
  BOOST_TEST(Tensor::full(DType::f16, {1}, 0.1).str() == "f16[1] {0.099975586}");
  BOOST_TEST(Tensor::zeros(DType::f32, {0, 4}).str() == "f32[0, 4] {}");

  BOOST_CHECK_EXCEPTION(t.data<double>(), DTypeError,
                        says_exactly("f32[2, 3] cannot be accessed as f64"));
  BOOST_CHECK_EXCEPTION(t.item<float>(), ShapeError,
                        says_exactly("item() needs a tensor with one element; f32[2, 3] has 6"));
  BOOST_CHECK_EXCEPTION(t.at(6), DataError,
                        says_exactly("element 6 is out of range: f32[2, 3] has 6 elements"));
  BOOST_CHECK_THROW(t.at(-1), DataError);
  BOOST_CHECK_EXCEPTION(t.reshape({4}), ShapeError,
                        says_exactly("cannot reshape f32[2, 3] with 6 elements to [4] with 4"));
  BOOST_CHECK_EXCEPTION(Tensor::of<float>({2}, {1, 2, 3}), ShapeError,
                        says_exactly("[2] has 2 elements, but 3 values were passed"));
}

BOOST_AUTO_TEST_CASE(undefined_tensors_reject_access) {
  Tensor t;
  BOOST_TEST(!t.defined());
  BOOST_TEST(t.str() == "undefined");
  BOOST_TEST(t.type_str() == "undefined");
  const auto undefined = says_exactly("the tensor is undefined: it has no data");
  BOOST_CHECK_EXCEPTION(t.raw(), StateError, undefined);
  BOOST_CHECK_EXCEPTION(t.mutable_raw(), StateError, undefined);
  BOOST_CHECK_EXCEPTION(t.clone(), StateError, undefined);
  BOOST_CHECK_EXCEPTION(t.to(DType::f64), StateError, undefined);
  BOOST_CHECK_EXCEPTION(t.reshape({1}), StateError, undefined);
  BOOST_TEST(bitwise_equal(t, Tensor()));
  BOOST_TEST(!bitwise_equal(t, Tensor::scalar(DType::f32, 0)));
}

BOOST_AUTO_TEST_CASE(every_conversion_preserves_small_numbers) {
  for (DType from : kAll) {
    Tensor t = Tensor::of<float>({3}, {0, 1, 5}).to(from);
    for (DType to : kAll) {
      const Tensor u = t.to(to);
      BOOST_TEST((u.dtype() == to));
      const bool flags = from == DType::boolean || to == DType::boolean;
      BOOST_TEST(u.at(0) == 0.0);
      BOOST_TEST(u.at(1) == 1.0);
      BOOST_TEST(u.at(2) == (flags ? 1.0 : 5.0));
      if (to == from) BOOST_TEST((u.buffer() == t.buffer()));
    }
  }
}

BOOST_AUTO_TEST_CASE(floats_to_integers_truncate_and_saturate) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor t =
      Tensor::of<double>({9}, {1.9, -1.9, 127.5, 128, -129, 1e30, -inf, std::nan(""), 0x1p63});
  auto check = [&](DType to, std::vector<std::int64_t> wanted) {
    const Tensor u = t.to(to).to(DType::i64);
    BOOST_TEST(u.to_vector<std::int64_t>() == wanted, boost::test_tools::per_element());
  };
  const std::int64_t max32 = std::numeric_limits<std::int32_t>::max(), min32 = -max32 - 1;
  check(DType::i8, {1, -1, 127, 127, -128, 127, -128, 0, 127});
  check(DType::u8, {1, 0, 127, 128, 0, 255, 0, 0, 255});
  check(DType::i32, {1, -1, 127, 128, -129, max32, min32, 0, max32});
  check(DType::i64, {1, -1, 127, 128, -129, kMax64, kMin64, 0, kMax64});
  const Tensor flags = t.to(DType::boolean);
  for (int i = 0; i < 9; ++i) BOOST_TEST(flags.at(i) == 1.0);
  BOOST_TEST(Tensor::scalar(DType::f32, -0.0).to(DType::boolean).at(0) == 0.0);
}

BOOST_AUTO_TEST_CASE(integers_wrap_around_and_round_once) {
  const Tensor t = Tensor::of<std::int64_t>({4}, {300, -300, kMax64, kMin64});
  BOOST_TEST(
      (t.to(DType::u8).to_vector<std::uint8_t>() == std::vector<std::uint8_t>{44, 212, 255, 0}));
  BOOST_TEST(
      (t.to(DType::i8).to_vector<std::int8_t>() == std::vector<std::int8_t>{44, -44, -1, 0}));
  BOOST_TEST(
      (t.to(DType::i32).to_vector<std::int32_t>() == std::vector<std::int32_t>{300, -300, -1, 0}));
  BOOST_TEST(Tensor::of<std::int8_t>({1}, {-5}).to(DType::u8).at(0) == 251.0);
  // 2^62 + 2^54 is midway between two bf16 values. The next larger integer must be rounded up,
  // although a double cannot represent the difference.
  const std::int64_t middle = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
  const Tensor ties = Tensor::of<std::int64_t>({3}, {middle, middle + 1, -middle - 1});
  const Tensor rounded = ties.to(DType::bf16);
  BOOST_TEST(rounded.at(0) == 0x1p62);
  BOOST_TEST(rounded.at(1) == 0x1p62 + 0x1p55);
  BOOST_TEST(rounded.at(2) == -0x1p62 - 0x1p55);
  BOOST_TEST(Tensor::of<std::int64_t>({1}, {kMin64}).to(DType::bf16).at(0) == -0x1p63);
  BOOST_TEST(std::isinf(Tensor::of<std::int32_t>({1}, {70000}).to(DType::f16).at(0)));
}

BOOST_AUTO_TEST_CASE(nonzero_bool_bytes_count_as_true) {
  std::uint8_t bytes[3] = {0, 1, 0x80};
  const Tensor t = Tensor::borrow(DType::boolean, {3}, bytes);
  BOOST_TEST(t.at(2) == 1.0);
  BOOST_TEST(t.to(DType::i32).at(2) == 1.0);
}

BOOST_AUTO_TEST_CASE(bitwise_comparison_compares_dtypes_sizes_and_bits) {
  const float nan = std::nanf("");
  const Tensor a = Tensor::of<float>({2}, {nan, 0.0f});
  BOOST_TEST(bitwise_equal(a, a.clone()));
  BOOST_TEST(!bitwise_equal(a, Tensor::of<float>({2}, {nan, -0.0f})));
  BOOST_TEST(!bitwise_equal(a, a.reshape({2, 1})));
  BOOST_TEST(!bitwise_equal(Tensor::zeros(DType::f32, {2}), Tensor::zeros(DType::i32, {2})));
  BOOST_TEST(bitwise_equal(Tensor::zeros(DType::f32, {0}), Tensor::zeros(DType::f32, {0})));
}

BOOST_AUTO_TEST_CASE(mapped_files_stay_mapped_while_tensors_use_them) {
  const TemporaryFile file("weft data");
  Tensor t;
  {
    auto mapped = MappedFile::open(file.path());
    BOOST_TEST(mapped->bytes() == 9u);
    BOOST_TEST(mapped->path() == file.path());
    BOOST_TEST(std::memcmp(mapped->data(), "weft data", 9) == 0);
    auto* data = const_cast<std::byte*>(mapped->data());
    auto buffer = Buffer::borrow(data, mapped->bytes(), mapped, false);
    t = Tensor::view(DType::u8, {4}, buffer, 5);
  }
  BOOST_TEST(t.at(0) == static_cast<double>('d'));  // the tensor keeps the mapping alive

  const TemporaryFile empty("");
  auto mapped = MappedFile::open(empty.path());
  BOOST_TEST(mapped->bytes() == 0u);
  BOOST_TEST(mapped->data() != nullptr);

  const std::string missing = file.path() + ".missing";
  BOOST_CHECK_EXCEPTION(MappedFile::open(missing), IoError,
                        says_exactly("cannot open \"" + missing + "\": No such file or directory"));
  BOOST_CHECK_EXCEPTION(MappedFile::open("/"), IoError,
                        says_exactly("cannot map \"/\": it is not a regular file"));
}

BOOST_AUTO_TEST_CASE(tensors_over_caller_memory_share_it) {
  std::vector<float> values = {1, 2, 3, 4, 5, 6};
  Tensor t = Tensor::over(values, {2, 3});
  BOOST_TEST(t.type_str() == "f32[2, 3]");
  BOOST_TEST((static_cast<const void*>(t.raw()) == values.data()));
  t.mutable_data<float>()[4] = 50;
  BOOST_TEST(values[4] == 50.0f);
  values[0] = 10;
  BOOST_TEST(t.at(0) == 10.0);

  const std::vector<float>& constant = values;
  Tensor shown = Tensor::over(constant, {6});
  BOOST_CHECK_EXCEPTION(
      shown.mutable_raw(), StateError,
      says_exactly(
          "the buffer of f32[6] is read-only (a mapped file, const memory, or the value of a "
          "variable): clone() the tensor to get a writable copy"));
  BOOST_TEST(shown.clone().mutable_data<float>()[0] == 10.0f);

  // Part of a range, any dtype, a fixed extent, and an empty range.
  BOOST_TEST(Tensor::over(std::span(values).subspan(1, 2), {2}).at(1) == 3.0);
  std::int32_t ids[] = {7, 8};
  BOOST_TEST(Tensor::over(std::span(ids), {1, 2}).type_str() == "i32[1, 2]");
  BOOST_TEST(Tensor::over(std::span<float>(), {0, 4}).numel() == 0);
  // Scalars have one element.
  BOOST_TEST(Tensor::over(std::span(values).first(1), {}).rank() == 0);
}

BOOST_AUTO_TEST_CASE(tensors_over_memory_keep_an_owner_alive) {
  auto owner = std::make_shared<std::vector<double>>(4, 2.5);
  std::weak_ptr<void> watch = owner;
  const std::span<double> values(*owner);
  Tensor t = Tensor::over(values, {4}, std::move(owner)).reshape({2, 2});
  BOOST_TEST(!watch.expired());
  BOOST_TEST(t.at(3) == 2.5);
  t = Tensor();
  BOOST_TEST(watch.expired());
}

BOOST_AUTO_TEST_CASE(tensors_over_memory_reject_invalid_layouts) {
  std::vector<float> values(6);
  BOOST_CHECK_EXCEPTION(Tensor::over(values, {2, 2}), ShapeError,
                        says_exactly("[2, 2] has 4 elements, but 6 values were passed"));
  BOOST_CHECK_EXCEPTION(
      Tensor::over(std::span(values), {2, 3}, {1, 2}), ShapeError,
      says_exactly("Tensor::over: strides [1, 2] of [2, 3] are not row-major (expected "
                   "[3, 1]): copy the elements in row-major order (Tensor::of)"));
  BOOST_CHECK_EXCEPTION(
      Tensor::over(std::span(values), {2, 3}, {3}), ShapeError,
      says_exactly("Tensor::over: strides [3] of [2, 3] are not row-major (expected "
                   "[3, 1]): copy the elements in row-major order (Tensor::of)"));
  BOOST_TEST(Tensor::over(std::span(values), {2, 3}, {3, 1}).numel() == 6);
  // The stride of an axis of size 1 is never used.
  BOOST_TEST(Tensor::over(std::span(values), {2, 1, 3}, {3, 99, 1}).numel() == 6);

  // A misaligned pointer, for example to a field in a packed message.
  alignas(8) std::byte bytes[32] = {};
  const auto* odd = reinterpret_cast<const float*>(bytes + 2);
  BOOST_CHECK_EXCEPTION(
      Tensor::over(std::span(odd, 3), {3}), ShapeError,
      says_exactly("Tensor::over: the address of the elements of f32[3] is not a multiple of the "
                   "element size, 4 bytes: copy the elements (Tensor::of)"));
}

BOOST_AUTO_TEST_SUITE_END()
