#include "weft/serialization/safetensors.h"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>

#include "weft/core/error.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::read_file;
using testing::says;
using testing::TemporaryFolder;
using testing::write_file;

std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + std::string(data_bytes, '\1');
}

BOOST_AUTO_TEST_SUITE(safetensors)

BOOST_AUTO_TEST_CASE(tensors_and_metadata_round_trip) {
  TemporaryFolder folder;
  TensorMap tensors;
  for (const DType d : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                        DType::i8, DType::u8, DType::boolean}) {
    tensors.emplace(std::string(dtype_name(d)) + ".x", Tensor::full(d, {3, 1}, 1));
  }
  tensors.emplace("scalar", Tensor::scalar(DType::f32, 0.1));
  tensors.emplace("empty \"quoted\"", Tensor::zeros(DType::f32, {0, 7}));
  const std::map<std::string, std::string> metadata = {{"format", "pt"}, {"note", "ä"}};
  write_safetensors(folder / "a.safetensors", tensors, metadata);
  const Safetensors back = read_safetensors(folder / "a.safetensors");
  BOOST_TEST(back.tensors.size() == tensors.size());
  for (const auto& [name, t] : tensors) BOOST_TEST(bitwise_equal(back.tensors.at(name), t), name);
  BOOST_TEST((back.metadata == metadata));
  const std::string bytes = read_file(folder / "a.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  BOOST_TEST(header % 8 == 0u);
  // Overwrites the mapped file.
  write_safetensors(folder / "a.safetensors", back.tensors, back.metadata);
  BOOST_TEST((read_file(folder / "a.safetensors") == bytes));
  write_safetensors(folder / "none.safetensors", {});
  BOOST_TEST(read_safetensors(folder / "none.safetensors").tensors.empty());
}

BOOST_AUTO_TEST_CASE(unaligned_data_can_be_read) {
  TemporaryFolder folder;
  write_file(folder / "a", file_of(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                   R"("a":{"dtype":"I32","shape":[1],"data_offsets":[1,5]}})",
                                   5));
  BOOST_TEST(read_safetensors(folder / "a").tensors.at("a").item<std::int32_t>() == 0x01010101);
}

BOOST_AUTO_TEST_CASE(all_rules_of_the_format_are_enforced) {
  TemporaryFolder folder;
  const auto bad = [&](const std::string& bytes, const std::string& message) {
    write_file(folder / "a", bytes);
    BOOST_CHECK_EXCEPTION(read_safetensors(folder / "a"), FormatError, says(message));
  };
  const auto one = [](const std::string& fields) { return "{\"x\":{" + fields + "}}"; };
  const auto tensor = [](const std::string& name, const std::string& shape,
                         const std::string& offsets) {
    return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":" + shape +
           ",\"data_offsets\":" + offsets + "}";
  };
  bad("", "at byte 0: the file has 0 bytes, which is too few for a header");
  bad(std::string(8, '\0'), "at byte 8: the header does not start with '{'");
  bad(std::string(8, '\xff'), "the limit is 100000000");
  bad(file_of("{}", 0).substr(0, 9), "at byte 0: the header declares 2 bytes, but only 1 are left");
  bad(file_of(" {}", 0), "at byte 8: the header does not start with '{'");
  bad(file_of("{]", 0), "at byte 9: the header is not valid JSON");
  bad(file_of("{} x", 0), "the header is not valid JSON");
  bad(file_of("{", 0), "the header is not valid JSON");
  bad(file_of("{}", 4), "4 bytes of data belong to no tensor");
  bad(file_of("{" + tensor("x", "[1]", "[0,4]") + "," + tensor("x", "[1]", "[4,8]") + "}", 8),
      "the name 'x' occurs twice");
  bad(file_of("{" + tensor("x", "[1]", "[0,4]") + "," + tensor("y", "[1]", "[8,12]") + "}", 12),
      "a gap");
  bad(file_of("{" + tensor("x", "[2]", "[0,8]") + "," + tensor("y", "[1]", "[4,8]") + "}", 8),
      "an overlap");
  bad(file_of("{" + tensor("x", "[1]", "[0,8]") + "}", 8), "needs 4 bytes, but its data has 8");
  bad(file_of("{" + tensor("x", "[1]", "[0,8]") + "}", 4), "are not a range within the 4 bytes");
  bad(file_of("{" + tensor("x", "[1]", "[4,0]") + "}", 4), "are not a range");
  bad(file_of("{" + tensor("x", "[1]", "[0,4,8]") + "}", 4), "are not a range");
  bad(file_of("{" + tensor("x", "[4611686018427387904,4]", "[0,4]") + "}", 4),
      "f32[4611686018427387904, 4]: size overflows the address space");
  bad(file_of("{" + tensor("x", "[0,4611686018427387904,4]", "[0,0]") + "}", 0),
      "size overflows the address space (axes of size 0 ignored)");
  bad(file_of("{" + tensor("x", "[18446744073709551615]", "[0,4]") + "}", 4),
      "has an axis of size");
  bad(file_of("{" + tensor("x", "[-1]", "[0,4]") + "}", 4),
      "a negative number is not allowed here");
  bad(file_of("{" + tensor("x", "[1.5]", "[0,4]") + "}", 4), "a fraction is not allowed here");
  bad(file_of("{" + tensor("x", "[[1]]", "[0,4]") + "}", 4), "an array is not allowed here");
  bad(file_of(one("\"dtype\":\"F32\",\"shape\":[1]"), 4), "tensor 'x' lacks data_offsets");
  bad(file_of(one("\"shape\":[1],\"data_offsets\":[0,4]"), 4), "tensor 'x' lacks dtype");
  bad(file_of(one("\"shape\":[1],\"shape\":[1]"), 4), "tensor 'x' has two fields 'shape'");
  bad(file_of(one("\"dtype\":\"F32\",\"dtype\":\"F32\""), 4), "tensor 'x' has two dtypes");
  bad(file_of(one("\"more\":true"), 4), "true or false is not allowed here");
  bad(file_of("{\"__metadata__\":{\"a\":1}}", 0), "a number is not allowed here");
  bad(file_of(one("\"dtype\":\"BOOL\",\"shape\":[1],\"data_offsets\":[0,1]"), 0) + "\2",
      "a BOOL is neither 0 nor 1");
  write_file(folder / "a",
             file_of(one("\"dtype\":\"I16\",\"shape\":[2],\"data_offsets\":[0,4]"), 4));
  BOOST_CHECK_EXCEPTION(read_safetensors(folder / "a"), DTypeError,
                        says("tensor 'x' has dtype I16, which Weft does not support"));
  BOOST_CHECK_EXCEPTION(write_safetensors(folder / "b", {{"x", Tensor()}}), ArgumentError,
                        says("'x' is undefined"));
}

BOOST_AUTO_TEST_CASE(damaged_files_never_crash_the_reader) {
  TemporaryFolder folder;
  write_safetensors(
      folder / "a",
      {{"x", Tensor::zeros(DType::f32, {3, 2})}, {"y", Tensor::zeros(DType::u8, {5})}},
      {{"k", "v"}});
  const std::string good = read_file(folder / "a");
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = good;
    for (int edits = 0; edits < 3; ++edits) {
      bytes[random() % bytes.size()] =
          static_cast<char>(random() % 2 ? random() : "{}[]\",:0"[random() % 8]);
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    write_file(folder / "b", bytes);
    try {
      read_safetensors(folder / "b");
    } catch (const FormatError&) {
    } catch (const DTypeError&) {
    }
  }
}

BOOST_AUTO_TEST_CASE(golden_files_are_readable) {
  const char* goldens = std::getenv("WEFT_GOLDENS");
  if (goldens == nullptr) return;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(goldens)) {
    if (entry.path().extension() != ".safetensors") continue;
    BOOST_TEST(!read_safetensors(entry.path().string()).tensors.empty(), entry.path());
    ++files;
  }
  BOOST_TEST(files > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
