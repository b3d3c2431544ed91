#include "weft/serialization/gguf/gguf.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <limits>

#include "weft/core/error.h"
#include "weft/serialization/gguf/blocks.h"
#include "weft/tests/serialization/file_bytes.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;
using testing::read_file;
using testing::TemporaryFolder;
using testing::write_file;

template <class T>
std::string number(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}
std::string text(const std::string& bytes) { return number(std::uint64_t{bytes.size()}) + bytes; }
std::string head(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  return "GGUF" + number(version) + number(tensors) + number(keys);
}
std::string u32_key(const std::string& key, std::uint32_t value) {
  return text(key) + number(std::uint32_t{4}) + number(value);
}
std::string info(const std::string& name, const std::vector<std::uint64_t>& axes,
                 std::uint32_t type = 0, std::uint64_t offset = 0) {
  std::string bytes = text(name) + number(static_cast<std::uint32_t>(axes.size()));
  for (const std::uint64_t size : axes) bytes += number(size);
  return bytes + number(type) + number(offset);
}
/// Appends data after the alignment.
std::string with_data(std::string bytes, std::size_t count) {
  bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
  return bytes + std::string(count, '\0');
}

const std::string kFixture = std::string(WEFT_FIXTURES) + "/gguf/blocks.gguf";

BOOST_AUTO_TEST_SUITE(gguf)

BOOST_AUTO_TEST_CASE(metadata_of_every_type_is_read) {
  const GgufFile file = read_gguf(kFixture);
  const GgufMetadata& m = file.metadata;
  BOOST_TEST(m.get<std::string>("general.architecture") == "test");
  BOOST_TEST(m.get<std::int64_t>("u8") == 200);
  BOOST_TEST(m.get<std::int64_t>("i8") == -100);
  BOOST_TEST(m.get<std::int64_t>("u16") == 60000);
  BOOST_TEST(m.get<std::int64_t>("i16") == -30000);
  BOOST_TEST(m.get<std::int64_t>("u32") == 4000000000);
  BOOST_TEST(m.get<std::int64_t>("i32") == -2000000000);
  BOOST_TEST(m.get<std::int64_t>("i64") == -(std::int64_t{1} << 62));
  BOOST_TEST(m.get<double>("u64") == 0x1p63);
  BOOST_TEST(m.get<double>("f32") == static_cast<double>(0.1F));
  BOOST_TEST(m.get<double>("f64") == 0.1);
  BOOST_TEST(m.get<double>("u8") == 200.0);
  BOOST_TEST(m.get<bool>("bool"));
  BOOST_TEST((m.get<std::vector<std::string>>("strings") ==
              std::vector<std::string>{"a", "", std::string("\xff\0b", 3)}));
  BOOST_TEST((m.get<std::vector<std::int64_t>>("i32s") == std::vector<std::int64_t>{1, -2, 3}));
  BOOST_TEST((m.get<std::vector<double>>("f32s") == std::vector<double>{0.5, -1.5}));
  BOOST_TEST((m.get<std::vector<bool>>("bools") == std::vector<bool>{true, false, true}));
  BOOST_TEST(m.get<std::vector<std::int64_t>>("none").empty());
  // One value in place of an array: one number for all layers.
  BOOST_TEST((m.get<std::vector<std::int64_t>>("u8") == std::vector<std::int64_t>{200}));
  BOOST_TEST(!m.find<std::int64_t>("missing").has_value());
  BOOST_TEST(m.find<bool>("bool").value());
  BOOST_TEST(m.entries().front().key == "general.architecture");
  BOOST_TEST(m.find_entry("strings")->value.type_str() == "an array of 3 strings");
}

BOOST_AUTO_TEST_CASE(errors_about_metadata_name_the_file_the_key_and_its_place) {
  const GgufFile file = read_gguf(kFixture);
  const GgufMetadata& m = file.metadata;
  const std::string place = "\"" + kFixture + "\"";
  check_error<FormatError>([&] { m.get<std::int64_t>("missing"); },
                           {place + ": missing is missing"});
  check_error<FormatError>([&] { m.get<std::int64_t>("general.architecture"); },
                           {place + " at byte 24: general.architecture is of type string, but must "
                                    "be an integer"});
  check_error<FormatError>([&] { m.get<std::int64_t>("f32"); },
                           {"f32 is of type f32, but must be an integer"});
  check_error<FormatError>([&] { m.get<bool>("u8"); }, {"u8 is of type u8, but must be a bool"});
  check_error<FormatError>([&] { m.get<std::string>("strings"); },
                           {"strings is an array of 3 strings, but must be a string"});
  check_error<FormatError>([&] { m.get<std::vector<double>>("strings"); },
                           {"but must be a number, or an array of these"});
  check_error<FormatError>([&] { m.get<std::int64_t>("u64"); },
                           {"u64 is 9223372036854775808, which is too large"});
  check_error<FormatError>([&] { GgufMetadata().set("a", 1).get<bool>("a"); },
                           {"the metadata: a is of type i32, but must be a bool"});
  check_error<FormatError>([&] { m.fail("u8", "is 200: it must be even"); },
                           {place + " at byte ", ": u8 is 200: it must be even"});
}

BOOST_AUTO_TEST_CASE(a_file_of_another_writer_is_written_again_with_the_same_bytes) {
  TemporaryFolder folder;
  const GgufFile file = read_gguf(kFixture);
  write_gguf(folder / "a.gguf", file.metadata, file.tensors);
  BOOST_TEST((read_file(folder / "a.gguf") == read_file(kFixture)));
}

BOOST_AUTO_TEST_CASE(metadata_and_tensors_round_trip) {
  TemporaryFolder folder;
  GgufMetadata metadata;
  metadata.set("general.architecture", "x")
      .set("count", std::uint32_t{7})
      .set("small", std::int8_t{-3})
      .set("large", std::numeric_limits<std::uint64_t>::max())
      .set("eps", 1e-5F)
      .set("exact", 1e-5)
      .set("flag", false)
      .set("texts", std::vector<std::string>{"a", "", "bc"})
      .set("sizes", std::vector<std::int32_t>{1, -2})
      .set("scores", std::vector<float>{0.5F})
      .set("flags", std::vector<bool>{true, false})
      .set("bytes", std::vector<std::uint8_t>{1, 255})
      .set("count", std::uint32_t{8});  // replaces the value
  const std::vector<GgufTensor> tensors = {
      encoded("matrix", Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), GgmlType::f32),
      encoded("half", Tensor::of<float>({3}, {1, -0.5, 65504}), GgmlType::f16),
      encoded("scalar", Tensor::scalar(DType::f32, 2), GgmlType::bf16),
      encoded("empty", Tensor::zeros(DType::f32, {0, 4}), GgmlType::f32),
      encoded("stack", Tensor::full(DType::f32, {2, 1, 2, 2}, 3), GgmlType::f32)};
  for (const std::uint32_t alignment : {0U, 8U, 64U}) {
    if (alignment != 0) metadata.set("general.alignment", alignment);
    const std::string path = folder / "a.gguf";
    write_gguf(path, metadata, tensors);
    const GgufFile back = read_gguf(path);
    BOOST_REQUIRE(back.metadata.entries().size() == metadata.entries().size());
    for (std::size_t i = 0; i < metadata.entries().size(); ++i) {
      const auto &before = metadata.entries()[i], &after = back.metadata.entries()[i];
      BOOST_TEST(after.key == before.key);
      BOOST_TEST((after.value.type() == before.value.type()));
      BOOST_TEST(after.value.is_array() == before.value.is_array());
      BOOST_TEST((after.value.items() == before.value.items()));
    }
    BOOST_TEST(back.metadata.get<std::int64_t>("count") == 8);
    BOOST_REQUIRE(back.tensors.size() == tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      BOOST_TEST(back.tensors[i].name == tensors[i].name);
      BOOST_TEST((back.tensors[i].sizes == tensors[i].sizes));
      BOOST_TEST(bitwise_equal(back.tensors[i].data, tensors[i].data));
    }
    BOOST_TEST((back.find("half")->type == GgmlType::f16));
    BOOST_TEST(back.find("none") == nullptr);
    BOOST_TEST(widened(*back.find("matrix")).at(5) == 6);
    BOOST_TEST(widened(*back.find("half")).at(2) == 65504);
    BOOST_TEST(std::filesystem::file_size(path) % (alignment == 0 ? 32 : alignment) == 0U);
    // Overwrites the mapped file.
    write_gguf(path, back.metadata, back.tensors);
  }
  write_gguf(folder / "none.gguf", {}, {});
  BOOST_TEST(read_gguf(folder / "none.gguf").tensors.empty());
}

BOOST_AUTO_TEST_CASE(tensors_may_be_unordered_and_unaligned_and_have_gaps) {
  TemporaryFolder folder;
  // Version 2; alignment 1; the second tensor is stored first, at an odd address.
  std::string bytes = head(2, 1, 2) + u32_key("general.alignment", 1) + info("late", {1}, 0, 9) +
                      info("early", {1}, 0, 1);
  bytes += std::string(1, '\0') + number(1.5F) + std::string(4, 'x') + number(2.5F);
  write_file(folder / "a", bytes);
  const GgufFile file = read_gguf(folder / "a");
  BOOST_TEST(widened(*file.find("early")).item<float>() == 1.5F);
  BOOST_TEST(widened(*file.find("late")).item<float>() == 2.5F);
}

BOOST_AUTO_TEST_CASE(every_rule_of_the_format_is_enforced) {
  TemporaryFolder folder;
  const std::string path = folder / "a.gguf";
  const auto bad = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    write_file(path, bytes);
    std::vector<std::string> all = {"\"" + path + "\" at byte "};
    all.insert(all.end(), parts.begin(), parts.end());
    check_error<FormatError>([&] { read_gguf(path); }, all);
  };
  bad("", {"at byte 0: the file does not start with 'GGUF'"});
  bad("GGML" + std::string(40, '\0'), {"at byte 0: the file does not start with 'GGUF'"});
  bad("PK\x03\x04" + std::string(40, '\0'), {"does not start with 'GGUF'; this is a ZIP archive"});
  bad("GGUF", {"at byte 4: the version has 4 bytes, but only 0 are left"});
  bad(head(0, 0, 1), {"at byte 4: the file has GGUF version 1; versions 2 and 3 can be read"});
  bad(head(0, 0, 4), {"the file has GGUF version 4"});
  bad(head(0, 0, 0), {"the file has GGUF version 0"});
  bad(head(0, 0, 0x03000000), {"at byte 4: the file is big-endian", "gguf_convert_endian.py"});
  bad(head(0, 0).substr(0, 20),
      {"at byte 16: the number of metadata keys has 8 bytes, but only 4 are left"});
  bad(head(0, std::uint64_t{1} << 60),
      {"at byte 24: metadata key 1 of 1152921504606846976 has 8 bytes, but only 0 are left"});
  bad(head(std::uint64_t{1} << 60, 0),
      {"at byte 24: tensor 1 of 1152921504606846976 has 8 bytes, but only 0 are left"});

  bad(head(0, 1) + text(""), {"at byte 24: metadata key 1 of 1 is empty"});
  bad(head(0, 1) + number(std::numeric_limits<std::uint64_t>::max()),
      {"at byte 32: metadata key 1 of 1 has 18446744073709551615 bytes, but only 0 are left: the "
       "file is truncated or damaged"});
  bad(head(0, 1) + text("a\xff"), {"metadata key 1 of 1 'a\\xff' is not valid UTF-8"});
  bad(head(0, 2) + u32_key("a", 1) + u32_key("a", 2), {"at byte 41: the key 'a' occurs twice"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{13}),
      {"at byte 33: a has the unknown type 13"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{9}) + number(std::uint32_t{13}) +
          number(std::uint64_t{0}),
      {"a has the unknown type 13"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{9}) + number(std::uint32_t{9}) +
          number(std::uint64_t{1}),
      {"at byte 33: a is an array of arrays, which is not supported"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{9}) + number(std::uint32_t{0}) +
          number(std::uint64_t{1} << 25),
      {"a has 33554432 elements; the limit is 16777216"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{9}) + number(std::uint32_t{5}) +
          number(std::uint64_t{3}) + std::string(11, '\0'),
      {"at byte 49: a has 12 bytes, but only 11 are left"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{9}) + number(std::uint32_t{8}) +
          number(std::uint64_t{2}) + text("x") + number(std::uint64_t{5}) + "abcd",
      {"at byte 66: a has 5 bytes, but only 4 are left"});
  bad(head(0, 1) + text("a") + number(std::uint32_t{9}) + number(std::uint32_t{7}) +
          number(std::uint64_t{2}) + "\1\2",
      {"at byte 50: a has the bool 2, which is neither 0 nor 1"});
  bad(head(0, 1) + u32_key("general.alignment", 24),
      {"at byte 24: general.alignment is 24, but must be a power of two"});
  bad(head(0, 1) + u32_key("general.alignment", 0),
      {"general.alignment is 0, but must be a power of two"});
  bad(head(0, 1) + text("general.alignment") + number(std::uint32_t{8}) + text("32"),
      {"general.alignment is of type string, but must be an integer"});

  const auto tensor = [](const std::string& infos, std::uint64_t count = 1,
                         std::size_t data = 4096) {
    return with_data(head(count, 0) + infos, data);
  };
  bad(head(1, 0) + info("t", {1}).substr(0, 30), {"tensor 1 of 1 has 8 bytes, but only "});
  bad(tensor(info("", {1})), {"at byte 24: tensor 1 of 1 is empty"});
  bad(tensor(info("t\x80", {1})), {"tensor 1 of 1 't\\x80' is not valid UTF-8"});
  bad(tensor(info("t", {1}) + info("t", {1}, 0, 32), 2), {"the tensor 't' occurs twice"});
  bad(tensor(info("t", {1, 1, 1, 1, 1})), {"at byte 24: tensor 't' has 5 axes; the limit is 4"});
  bad(tensor(info("t", {std::uint64_t{1} << 63})),
      {"tensor 't' has an axis of size 9223372036854775808"});
  bad(tensor(info("t", {std::uint64_t{1} << 40, std::uint64_t{1} << 40})),
      {"tensor 't' is too large: "});
  bad(tensor(info("t", {0, std::uint64_t{1} << 40, std::uint64_t{1} << 40})),
      {"tensor 't' is too large: "});
  bad(tensor(info("t", {256}, 23)),
      {"tensor 't' has type IQ4_XS, which cannot be read (readable: F32, F16, BF16, Q8_0, Q4_0, "
       "Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, Q6_K, MXFP4): convert the file",
       "llama-quantize --allow-requantize"});
  bad(tensor(info("t", {256}, 10)), {"tensor 't' has type Q2_K, which cannot be read"});
  bad(tensor(info("t", {256}, 99)), {"tensor 't' has type 99, which cannot be read"});
  bad(tensor(info("t", {33}, 8)), {"tensor 't' has rows of 33 elements, which are not a multiple "
                                   "of the 32 in a block of Q8_0"});
  bad(tensor(info("t", {32, 8}, 12)), {"tensor 't' has rows of 32 elements, which are not a "
                                       "multiple of the 256 in a block of Q4_K"});
  bad(tensor(info("t", {}, 2)), {"tensor 't' has rows of 1 elements"});
  bad(tensor(info("t", {1}, 0, 4)),
      {"tensor 't' has the offset 4, which is not a multiple of the alignment 32"});
  bad(tensor(info("t", {8}, 0, 32), 1, 60),
      {"tensor 't' has 32 bytes at offset 32 of the data, but the data has 60 bytes: the file is "
       "truncated or damaged"});
  bad(tensor(info("t", {1}, 0, ~std::uint64_t{31})),
      {"at offset 18446744073709551584 of the data"});
  bad(head(1, 0) + info("t", {1}), {"but the data has 0 bytes"});
  bad(tensor(info("b", {9}, 0, 0) + info("a", {1}, 0, 32), 2),
      {"the data of tensor 'a' overlaps that of tensor 'b'"});
  bad(tensor(info("b", {1}, 0, 32) + info("a", {1}, 0, 32), 2), {"overlaps that of tensor"});
}

BOOST_AUTO_TEST_CASE(a_header_above_the_limit_is_rejected_before_it_is_read) {
  TemporaryFolder folder;
  const std::string path = folder / "a.gguf";
  write_file(path, head(0, 1) + number(std::uint64_t{100'000'001}));
  std::filesystem::resize_file(path, 200'000'000);
  check_error<FormatError>([&] { read_gguf(path); },
                           {"metadata key 1 of 1 ends at byte 100000033; the limit of the header "
                            "is 100000000"});
}

BOOST_AUTO_TEST_CASE(every_truncated_file_is_rejected) {
  TemporaryFolder folder;
  const std::string bytes = read_file(kFixture), path = folder / "a.gguf";
  for (std::size_t size = 0; size < bytes.size(); size += size < 2500 ? 1 : 997) {
    write_file(path, bytes.substr(0, size));
    BOOST_CHECK_THROW(read_gguf(path), FormatError);
  }
}

BOOST_AUTO_TEST_CASE(the_parts_of_a_split_model_are_read_together) {
  TemporaryFolder folder;
  const auto part = [](int number, int count, int tensors) {
    GgufMetadata m;
    m.set("split.no", static_cast<std::uint16_t>(number))
        .set("split.count", static_cast<std::uint16_t>(count))
        .set("split.tensors.count", std::int32_t{tensors});
    if (number == 0) m.set("general.name", "whole");
    return m;
  };
  const auto tensor = [](const std::string& name, float value) {
    return encoded(name, Tensor::of<float>({1}, {value}), GgmlType::f32);
  };
  const std::string one = folder / "m-00001-of-00003.gguf", two = folder / "m-00002-of-00003.gguf",
                    three = folder / "m-00003-of-00003.gguf";
  write_gguf(one, part(0, 3, 4), {tensor("a", 1)});
  write_gguf(two, part(1, 3, 4), {tensor("b", 2), tensor("c", 3)});
  check_error<IoError>([&] { read_gguf(one); },
                       {three, "(part 3 of 3 of the model \"" + one + "\")"});
  write_gguf(three, part(2, 3, 4), {tensor("d", 4)});
  const GgufFile file = read_gguf(one);
  BOOST_TEST(file.metadata.get<std::string>("general.name") == "whole");
  BOOST_REQUIRE(file.tensors.size() == 4U);
  for (std::size_t i = 0; i < 4; ++i)
    BOOST_TEST(widened(file.tensors[i]).item<float>() == static_cast<float>(i + 1));

  check_error<FormatError>([&] { read_gguf(two); },
                           {"split.no is 1: open the first part of the model, \"" + one + "\""});
  write_gguf(folder / "other.gguf", part(0, 3, 4), {});
  check_error<FormatError>(
      [&] { read_gguf(folder / "other.gguf"); },
      {"split.no is 0: the name of part 1 of a model that is split into 3 must "
       "end with -00001-of-00003.gguf"});
  write_gguf(folder / "other.gguf",
             part(0, 3, 4).set("split.no", std::numeric_limits<std::int64_t>::max()), {});
  check_error<FormatError>([&] { read_gguf(folder / "other.gguf"); },
                           {"split.no is 9223372036854775807, but the model has 3 parts"});
  write_gguf(three, part(1, 3, 4), {tensor("d", 4)});
  check_error<FormatError>([&] { read_gguf(one); },
                           {three, "split.no is 1, but must be 2 in this part of the model"});
  write_gguf(three, part(2, 4, 4), {tensor("d", 4)});
  check_error<FormatError>([&] { read_gguf(one); }, {"split.count is 4, but must be 3"});
  write_gguf(three, part(2, 3, 4), {tensor("a", 4)});
  check_error<FormatError>([&] { read_gguf(one); },
                           {three, "the tensor 'a' is also in another part of the model"});
  write_gguf(three, part(2, 3, 4), {});
  check_error<FormatError>([&] { read_gguf(one); },
                           {"split.tensors.count is 4, but the parts of the model contain 3 "
                            "tensors"});
}

BOOST_AUTO_TEST_CASE(invalid_files_are_not_written) {
  TemporaryFolder folder;
  const std::string path = folder / "a.gguf";
  const auto bad = [&](const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors,
                       const std::string& part) {
    check_error<ArgumentError>([&] { write_gguf(path, metadata, tensors); }, {part});
    BOOST_TEST(!std::filesystem::exists(path));
  };
  const GgufTensor good = encoded("t", Tensor::zeros(DType::f32, {2, 32}), GgmlType::f32);
  const auto with = [&](const auto& change) {
    GgufTensor tensor = good;
    change(tensor);
    return std::vector<GgufTensor>{tensor};
  };
  bad(GgufMetadata().set("", 1), {}, "write_gguf: metadata key '' has no name");
  bad(GgufMetadata().set("\xff", 1), {}, "metadata key '\\xff' is not valid UTF-8");
  bad(GgufMetadata().set("general.alignment", std::uint32_t{12}), {},
      "metadata key 'general.alignment' is 12 of type u32, but must be a u32 that is a power of "
      "two "
      "in [8, 65536]");
  bad(GgufMetadata().set("general.alignment", std::int64_t{32}), {}, "is 32 of type i64");
  bad({}, {good, good}, "tensor 't' occurs twice");
  bad({}, with([](GgufTensor& t) { t.name = ""; }), "tensor '' has no name");
  bad({}, with([](GgufTensor& t) { t.name = std::string(64, 'n'); }),
      "has a name of 64 bytes; llama.cpp reads at most 63");
  bad({}, with([](GgufTensor& t) { t.sizes = {2, 1, 1, 1, 32}; }), "has 5 axes; the limit is 4");
  bad({}, with([](GgufTensor& t) {
        t.sizes = {2, 31};
      }),
      "tensor 't' is F32[2, 31]: its data must be u8[248], but is u8[256]");
  bad({}, with([](GgufTensor& t) { t.data = {}; }), "must be u8[256], but is undefined");
  bad({}, with([](GgufTensor& t) { t.type = GgmlType::q6_k; }),
      "rows of 32 elements, which are not a multiple of the 256 in a block of Q6_K");
}

BOOST_AUTO_TEST_CASE(names_of_types_are_parsed_and_listed) {
  for (const char* name : {"F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K",
                           "Q5_K", "Q6_K", "MXFP4"}) {
    BOOST_TEST(ggml_type_name(parse_ggml_type(name)) == name);
  }
  BOOST_TEST((parse_ggml_type("q4_k") == GgmlType::q4_k));
  check_error<ArgumentError>([] { parse_ggml_type("Q8"); },
                             {"unknown GGUF tensor type 'Q8'", "Q8_0"});
  BOOST_TEST(ggml_type_name(std::uint32_t{23}) == "IQ4_XS");
  BOOST_TEST(ggml_type_name(std::uint32_t{1000}) == "1000");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
