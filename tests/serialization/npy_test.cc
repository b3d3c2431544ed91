// NumPy files. The fixture numpy.npz was written by numpy.savez_compressed (numpy 1.24).
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <string>

#include "weft/core/error.h"
#include "weft/serialization/npy.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
using namespace testing;
BOOST_AUTO_TEST_SUITE(npy_files)
namespace {

const std::string kNumpy = std::string(WEFT_FIXTURES) + "/numpy/";

TensorMap all_dtypes() {
  TensorMap tensors;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64, DType::i32, DType::i8,
                            DType::u8, DType::boolean}) {
    const std::string name = "group/" + std::string(dtype_name(dtype));
    tensors[name] = Tensor::of<double>({2, 3}, {0, 1, 2, 3, 100, 5}).to(dtype);
  }
  tensors["scalar"] = Tensor::scalar(DType::f32, 1.5);
  tensors["empty"] = Tensor::zeros(DType::i64, {0, 4});
  return tensors;
}

BOOST_AUTO_TEST_CASE(arrays_of_all_dtypes_are_read_back) {
  const TemporaryFolder folder;
  const TensorMap tensors = all_dtypes();
  write_npz(folder / "a.npz", tensors);
  const TensorMap found = read_npz(folder / "a.npz");
  BOOST_TEST(found.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    BOOST_TEST_INFO(name);
    BOOST_REQUIRE(found.contains(name));
    BOOST_TEST(bitwise_equal(found.at(name), tensor));
    write_npy(folder / "a.npy", tensor);
    BOOST_TEST(bitwise_equal(read_npy(folder / "a.npy"), tensor));
  }
  write_npz(folder / "a.npz", {});
  BOOST_TEST(is_npz(folder / "a.npz"));
  BOOST_TEST(read_npz(folder / "a.npz").empty());
}

BOOST_AUTO_TEST_CASE(compressed_archives_of_numpy_are_read) {
  const TensorMap found = read_npz(kNumpy + "numpy.npz");
  BOOST_TEST(found.size() == 3U);
  BOOST_TEST(bitwise_equal(found.at("matrix"), Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5})));
  BOOST_TEST(bitwise_equal(found.at("column"), Tensor::of<std::int64_t>({3, 1}, {7, 8, 9})));
  BOOST_TEST(found.at("zeros").sizes() == Sizes({1000, 100}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(errors_name_the_member_the_offset_and_the_remedy) {
  const TemporaryFolder folder;
  const auto rejects = [&](const std::string& file, const std::string& message) {
    check_error<FormatError>([&] { read_npz(kNumpy + file); }, {file, message});
  };
  rejects("big_endian.npz", "member 'x.npy': at byte 128: the array is big-endian ('>f4')");
  rejects("fortran.npz", "save numpy.ascontiguousarray(a)");
  rejects("text.npz", "dtype '<U3' is not supported");
  rejects("record.npz", "arrays of structures are not supported");
  check_error<DTypeError>(
      [&] {
        write_npz(folder / "b.npz", {{"w", Tensor::zeros(DType::bf16, {1})}});
      },
      {"tensor 'w': NumPy files do not support bf16: cast the tensor to f32"});
  BOOST_TEST(!std::filesystem::exists(folder / "b.npz"));
  BOOST_CHECK_THROW(read_npz(folder / "none.npz"), IoError);
  BOOST_TEST(is_npz(kNumpy + "numpy.npz"));
  BOOST_TEST(!is_npz(folder.write("model.bin", "PK\x03\x04 data")));
}

BOOST_AUTO_TEST_CASE(damaged_archives_are_rejected) {
  const TemporaryFolder folder;
  write_npz(folder / "a.npz", {{"x", Tensor::of<float>({3}, {1, 2, 3})}});
  const std::string bytes = read_file(folder / "a.npz");
  std::size_t rejected = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    write_file(folder / "d.npz", damaged);
    try {
      read_npz(folder / "d.npz");
    } catch (const Error&) {
      ++rejected;
    }
    write_file(folder / "d.npz", bytes.substr(0, i));
    BOOST_CHECK_THROW(read_npz(folder / "d.npz"), FormatError);
  }
  // Only times and attributes of members may change unnoticed.
  BOOST_TEST(rejected > bytes.size() * 3 / 4);
  // A header that claims more than the archive can contain is rejected before memory is reserved.
  write_npy(folder / "a.npy", Tensor::of<float>({3}, {1, 2, 3}));
  std::string huge = read_file(folder / "a.npy");
  const std::string larger = "(3000000000000,), }";
  huge.replace(huge.find("(3,)"), larger.size(), larger);
  write_file(folder / "a.npy", huge);
  check_error<FormatError>([&] { read_npy(folder / "a.npy"); },
                           {"f32[3000000000000] does not fit in the file"});
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
