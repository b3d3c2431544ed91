// Damaged, endless or inconsistent inputs are rejected with a clear error and with bounded memory
// use.
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <limits>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/data/batching/packed_texts.h"
#include "weft/models/data/formats/labelled_text.h"
#include "weft/models/data/formats/parallel_text.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/data/images/image_idx.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/generate/sampling.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/text/corpus/text_file.h"
#include "weft/models/text/tokenizers/sentence_piece/sentence_piece.h"
#include "weft/serialization/checkpoint.h"
#include "weft/serialization/container.h"
#include "weft/serialization/files/read_file.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/fuzz/attack/deflate.h"
#include "weft/tests/support/image_files.h"
#include "weft/tests/support/messages.h"
#include "weft/tests/support/program_shell.h"
#include "weft/tests/support/sanitizers.h"

namespace weft {
namespace {

using testing::says;

constexpr std::size_t kMebi = std::size_t{1} << 20;

std::string png_chunk(const std::string& type, const std::string& data) {
  const auto big = [](std::size_t v) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(v >> shift);
    return bytes;
  };
  const std::string covered = type + data;
  return big(data.size()) + covered +
         big(crc32(0, reinterpret_cast<const Bytef*>(covered.data()),
                   static_cast<uInt>(covered.size())));
}

// Returns the peak memory use of this process so far, or 0 in sanitizer builds, because sanitizers
// use memory themselves.
std::int64_t peak_bytes() {
  if (testing::kSanitized) return 0;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

void flip_bit(const std::string& path, std::uint64_t at) {
  std::string bytes = read_whole_file(path);
  bytes[at] = static_cast<char>(bytes[at] ^ 0x40);
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(hostile_inputs)

BOOST_AUTO_TEST_CASE(errors_name_the_line_of_invalid_utf8) {
  const testing::TemporaryFolder folder("hostile");
  const std::string path = folder.write("t.txt",
                                        "one\ntwo\nthr\xFF"
                                        "e\n");
  BOOST_CHECK_EXCEPTION(read_utf8_file(path), FormatError,
                        says(path + ", line 3: not UTF-8: an invalid first byte at byte 11"));
  folder.write("t.tsv", "a\tb\nc\xC3\td\n");
  BOOST_CHECK_EXCEPTION(read_text_pairs(folder.path("t.tsv")), FormatError, says("t.tsv, line 2"));
  const std::string paths[] = {folder.path("t.tsv")};
  BOOST_CHECK_EXCEPTION(read_labelled_text(paths, LabelSide::first), FormatError,
                        says("t.tsv, line 2"));
}

BOOST_AUTO_TEST_CASE(byte_order_marks_are_removed_or_rejected) {
  const testing::TemporaryFolder folder("hostile");
  BOOST_TEST(read_utf8_file(folder.write("t.txt",
                                         "\xEF\xBB\xBF"
                                         "ab")) == "ab");
  BOOST_TEST(read_utf8_file(folder.write("u.txt",
                                         "a\xEF\xBB\xBF"
                                         "b"))
                 .size() == 5u);
  BOOST_CHECK_EXCEPTION(read_utf8_file(folder.write("w.txt", std::string("\xFF\xFE"
                                                                         "a\0",
                                                                         4))),
                        FormatError, says("w.txt: the text is UTF-16 or UTF-32"));
}

BOOST_AUTO_TEST_CASE(compressed_idx_files_are_not_unpacked_beyond_the_declared_size) {
  const testing::TemporaryFolder folder("hostile");
  const int gzip = 16 + MAX_WBITS;
  std::string bomb = attack::deflated(std::string("\0\0\x08\x01\0\0\0\x03", 8), gzip);
  const std::string block = attack::deflated(std::string(kMebi, '\0'), gzip);
  for (int i = 0; i < 4000; ++i) bomb += block;
  const std::int64_t before = peak_bytes();
  BOOST_CHECK_EXCEPTION(read_idx(folder.write("i.gz", bomb)), FormatError,
                        says("more than 11 bytes when decompressed"));
  BOOST_TEST(peak_bytes() - before < std::int64_t{200} << 20);
}

BOOST_AUTO_TEST_CASE(a_png_with_too_much_pixel_data_is_rejected) {
  const std::string block = attack::deflated(std::string(kMebi, '\0'), MAX_WBITS, Z_FULL_FLUSH);
  std::string data = block.substr(0, 2);
  for (int i = 0; i < 3000; ++i) data += block.substr(2);
  const std::string png = std::string("\x89PNG\r\n\x1a\n", 8) +
                          png_chunk("IHDR", std::string("\0\0\0\1\0\0\0\1\x08\0\0\0\0", 13)) +
                          png_chunk("IDAT", data) + png_chunk("IEND", "");
  const std::int64_t before = peak_bytes();
  BOOST_CHECK_EXCEPTION(decode_image(png, 1, "b.png"), FormatError,
                        says("b.png: the image data exceed the size of the pixels"));
  BOOST_TEST(peak_bytes() - before < std::int64_t{200} << 20);
}

BOOST_AUTO_TEST_CASE(small_files_with_huge_declared_images_are_rejected_before_allocation) {
  const std::string sides("\0\0\x1f\xff\0\0\x1f\xff", 8);  // 8191 x 8191
  const std::string png = std::string("\x89PNG\r\n\x1a\n", 8) +
                          png_chunk("IHDR", sides + std::string("\x08\x06\0\0\0", 5)) +
                          png_chunk("IDAT", attack::deflated(std::string(100, '\0'), MAX_WBITS)) +
                          png_chunk("IEND", "");
  const std::int64_t before = peak_bytes();
  BOOST_CHECK_EXCEPTION(decode_image(png, 3, "b.png"), FormatError,
                        says("b.png: the image data are 100 bytes, but the pixels need 268369924; "
                             "the data end at byte 5"));
  std::string jpeg = testing::grey_jpeg();
  const std::size_t frame = jpeg.find("\xff\xc0");
  BOOST_TEST_REQUIRE(frame != std::string::npos);
  jpeg.replace(frame + 5, 4, "\x1f\xff\x1f\xff");
  BOOST_CHECK_EXCEPTION(
      decode_image(jpeg, 3, "b.jpg"), FormatError,
      says("b.jpg: " + std::to_string(jpeg.size()) +
           " bytes are too few for the 8191 x 8191 pixels that are declared at byte " +
           std::to_string(frame + 4)));
  BOOST_TEST(peak_bytes() - before < std::int64_t{50} << 20);
}

BOOST_AUTO_TEST_CASE(configs_with_deep_nesting_duplicate_keys_or_overflows_are_rejected) {
  const std::string deep =
      "{\"vocab\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  BOOST_CHECK_EXCEPTION(GptConfig::from_json(deep), FormatError,
                        says("nested more than 64 levels deep"));
  BOOST_CHECK_EXCEPTION(hf::ConfigReader{deep}, FormatError,
                        says("nested more than 64 levels deep"));
  BOOST_CHECK_EXCEPTION((hf::ConfigReader{R"({"n_layer": 1, "n_layer": 2})"}), FormatError,
                        says("the key 'n_layer' occurs twice"));
  hf::ConfigReader config(R"({"n_layer": 18446744073709551615})");
  std::int64_t layers = 0;
  BOOST_CHECK_EXCEPTION(config.field("n_layer", layers), FormatError,
                        says("not 18446744073709551615"));
  const std::string wide = "{\"n_layer\": \"" + std::string(100'000, 'x') + "\"}";
  try {
    hf::ConfigReader(wide).field("n_layer", layers);
    BOOST_ERROR("no exception");
  } catch (const FormatError& e) {
    BOOST_TEST(std::string_view(e.what()).size() < 300u);
  }
}

BOOST_AUTO_TEST_CASE(error_messages_stay_short_for_names_of_any_length) {
  const std::string name(50'000, 'x');
  try {
    hf::ConfigReader(R"({"model_type": "gpt2", ")" + name + R"(": 1})").finish();
    BOOST_ERROR("no exception");
  } catch (const ArgumentError& e) {
    BOOST_TEST(std::string_view(e.what()).size() < 400u);
  }
  const Shell weft;
  const std::string header =
      R"({")" + name + R"(": {"dtype": "F99", "shape": [1], "data_offsets": [0, 4]}})";
  std::string bytes;
  for (int shift = 0; shift < 64; shift += 8)
    bytes += static_cast<char>(static_cast<std::uint64_t>(header.size()) >> shift);
  const Outcome outcome =
      weft("verify " + weft.write("m.safetensors", bytes + header + std::string(4, '\0')));
  check_error(outcome, 1, "xxx... (");
  BOOST_TEST(outcome.err.size() < 8192u);
}

BOOST_AUTO_TEST_CASE(single_example_classes_are_in_the_training_set) {
  const std::vector<std::int32_t> labels = {0, 0, 0, 0, 1};
  const Split split = stratified_split(labels, 0.9, 1);
  for (const std::int32_t label : {0, 1}) {
    BOOST_TEST(std::count_if(split.train.begin(), split.train.end(), [&](std::int64_t i) {
                 return labels[static_cast<std::size_t>(i)] == label;
               }) >= 1);
  }
}

BOOST_AUTO_TEST_CASE(temperatures_near_zero_select_the_most_likely_token) {
  for (const double temperature : {1e-300, 1e-307, 5e-324}) {
    std::vector<double> scores = {-3000, 999, 1000, 999};
    filter_scores({.temperature = temperature}, scores);
    for (std::uint64_t seed = 0; seed < 20; ++seed) BOOST_TEST(sample_id(scores, seed, 0, 0) == 2);
  }
}

BOOST_AUTO_TEST_CASE(long_texts_are_segmented_word_by_word) {
  const std::vector<std::string> texts = {"the cat sat on the mat", "a cat and a mat, and the sun"};
  const auto tokenizer = SentencePieceTokenizer::train(texts, {.vocab = 28});
  std::vector<std::int32_t> words;
  for (const char* word : {"the", "sat", "zz", "?!", "cat,", "mats"}) {
    for (const std::int32_t id : tokenizer.encode(word)) {
      // A run of adjacent unknown characters is encoded as one id.
      if (words.empty() || id != tokenizer.unk_id() || words.back() != id) words.push_back(id);
    }
  }
  BOOST_TEST(tokenizer.encode("the sat zz ?! cat, mats") == words,
             boost::test_tools::per_element());
  // In a line of 4 MiB, pieces are merged word by word, so memory use stays small.
  std::string line;
  while (line.size() < 4 * kMebi) line += "the cat ";
  const std::int64_t before = peak_bytes();
  const auto ids = tokenizer.encode(line);
  BOOST_TEST(ids.size() >= line.size() / 8);
  BOOST_TEST(peak_bytes() - before < std::int64_t{100} << 20);
  BOOST_CHECK_EXCEPTION(tokenizer.encode(std::string(17 * kMebi, 'a')), DataError,
                        says("at most 16777216 bytes are supported"));
  const PackedTexts rows(tokenizer, std::vector<std::string>{line, "a cat"}, 16);
  BOOST_TEST(rows.row(0).size() == 16u);
  BOOST_TEST(rows.row(1).size() == 16u);
}

BOOST_AUTO_TEST_CASE(verify_and_all_commands_that_read_the_model_detect_a_flipped_bit) {
  const Shell weft;
  const std::string model = weft.path("m.weft"), text = " --text " + weft.path("text.txt");
  BOOST_TEST(weft("train gpt --layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 2" +
                  text + " --out " + model)
                 .code == 0);
  const Outcome whole = weft("verify " + model + " " + model);
  BOOST_TEST(whole.code == 0);
  BOOST_TEST(contains(whole.out, model + ": intact: "));
  BOOST_TEST(contains(whole.out, "all checksums correct"));
  const std::vector<Record> data = Container(model).data();
  flip_bit(model, data.front().offset + 3);
  const std::string damaged =
      "at byte " + std::to_string(data.front().offset) + ": a DATA record is damaged";
  for (const std::string& command :
       {"verify " + model, "inspect " + model, "evaluate " + model + text,
        "quantize " + model + " --out " + weft.path("q.weft"),
        "generate " + model + " --prompt a --tokens 2", "score " + model + " --continuation ab",
        "train gpt --resume " + model + text + " --out " + weft.path("r.weft")})
    check_error(weft(command), 1, damaged);
  BOOST_TEST(!std::filesystem::exists(weft.path("r.weft")));
  check_error(weft("verify " + weft.path("text.txt")), 1, "is not a .weft file, ");
}

BOOST_AUTO_TEST_CASE(inspect_shows_files_with_custom_ops) {
  const Shell weft;
  auto more = std::make_shared<OpSet>(*builtin_ops());
  OpRecord mine = builtin_ops()->at("neg");
  mine.name = "my_neg";
  more->add(mine);
  Graph g(more);
  const Variable v = g.variable("weight", DType::f32, {2, 3});
  write_checkpoint(weft.path("m.weft"),
                   {Program("p").output("y", g.apply("my_neg", {v.value()}, {}).output(0))},
                   [](const VariableInfo&) {
                     return Tensor::zeros(DType::f32, {2, 3});
                   });
  const std::string file = weft.path("m.weft");
  const auto shows = [&](const std::string& option, const std::vector<std::string>& parts) {
    const Outcome seen = weft("inspect " + file + option);
    BOOST_TEST(seen.code == 0, seen.err);
    BOOST_TEST(contains(seen.out, "operations unknown to this program: my_neg"), seen.out);
    for (const std::string& part : parts) BOOST_TEST(contains(seen.out, part), seen.out);
  };
  shows("", {"variables  1", "graph      1 nodes", "programs   p"});
  shows(" --variables", {"parameter", "f32[2, 3]", "weight"});
  shows(" --programs", {"program p:", "output  y"});
  shows(" --graph", {"my_neg"});
}

BOOST_AUTO_TEST_CASE(the_program_rejects_endless_inputs) {
  const Shell weft;
  const std::string out = " --out " + weft.path("m.weft");
  check_error(weft("train gpt --text /dev/zero" + out), 1, "/dev/zero: it is a device");
  check_error(weft("inspect /dev/zero"), 1, "/dev/zero");
  BOOST_REQUIRE(::mkfifo(weft.path("fifo").c_str(), 0600) == 0);
  check_error(weft("inspect " + weft.path("fifo")), 1, "not a regular file");
  check_error(weft("verify " + weft.path("fifo")), 1, "not a regular file");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
