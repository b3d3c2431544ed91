// Training on token files: windows from one or several sets, held-out text, and files that are
// larger than memory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "token_samples.h"
#include "weft/core/error.h"
#include "weft/models/data/batching/token_batches.h"
#include "weft/models/tasks/next_token/text_task.h"
#include "weft/models/text/tokens/token_sources.h"
#include "weft/models/training/trainable.h"
#include "weft/serialization/files/crc32c.h"
#include "weft/testing/temporary_folder.h"
#include "weft/tests/support/text_files.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(token_training)
namespace {

using testing::all_ids;
using testing::letters;
using testing::TemporaryFolder;
using testing::write_tokens;

using Texts = std::vector<std::string>;

Texts sample_texts(std::int64_t documents, char first = 'a') {
  Texts texts;
  for (std::int64_t i = 0; i < documents; ++i)
    texts.emplace_back(static_cast<std::size_t>(3 + i * i % 7), static_cast<char>(first + i % 5));
  return texts;
}

BOOST_AUTO_TEST_CASE(sources_are_parsed_with_weights) {
  const TemporaryFolder folder("sources");
  write_tokens(folder.path("a"), letters(), sample_texts(3));
  write_tokens(folder.path("b=1"), letters(), sample_texts(3));
  const std::string a = folder.path("a"), b = folder.path("b=1");
  BOOST_TEST(parse_source(a).path == a);
  BOOST_TEST(!parse_source(a).weight);
  BOOST_TEST(parse_source(a + "=0.25").path == a);
  BOOST_TEST(*parse_source(a + "=0.25").weight == 0.25);
  BOOST_TEST(parse_source(b).path == b);
  BOOST_TEST(!parse_source(b).weight);
  BOOST_TEST(*parse_source(b + "=3").weight == 3);
  BOOST_TEST(*parse_source(a + "-00000.tok=2").weight == 2);
  BOOST_TEST(names_token_set(a + "=x"));
  BOOST_TEST(!names_token_set(folder.path("c")));
  BOOST_TEST(!names_token_set(folder.write("c", "text") + "=3"));
  for (const char* wrong : {"=0", "=-1", "=x", "=", "=nan", "=inf"})
    check_error_message<ArgumentError>([&] { parse_source(a + wrong); }, "the weight of " + a);
  check_error_message<ArgumentError>(
      [&] {
        open_token_sources(Texts({a + "=1", b}));
      },
      "set weights for all");
  check_error_message<ArgumentError>(
      [&] {
        open_token_sources(Texts({a, b + "=1"}));
      },
      "set weights for all");
  write_tokens(folder.path("other"), letters(true), sample_texts(3));
  check_error_message<DataError>(
      [&] {
        open_token_sources(Texts({a, folder.path("other")}));
      },
      "write the token files again");
}

BOOST_AUTO_TEST_CASE(the_held_out_text_is_the_same_for_any_tokenizer) {
  const TemporaryFolder folder("sources");
  const Texts texts = sample_texts(100);
  const TokenSet plain = write_tokens(folder.path("plain"), letters(), texts),
                 ends = write_tokens(folder.path("ends"), letters(true), texts, 64);
  for (const double fraction : {0.0, 0.1, 0.33, 0.9}) {
    const TokenSplit a = split_tokens(plain, fraction), b = split_tokens(ends, fraction);
    BOOST_TEST(a.validation_bytes == b.validation_bytes);
    BOOST_TEST(a.validation.size == a.validation_bytes);
    BOOST_TEST(a.train.size + a.validation.size == plain.tokens());
    BOOST_TEST(b.train.size + b.validation.size == ends.tokens());
    BOOST_TEST(static_cast<double>(a.validation_bytes) >=
               fraction * static_cast<double>(plain.bytes()) - 1e-6);
    BOOST_TEST(static_cast<double>(a.validation_bytes) <=
               fraction * static_cast<double>(plain.bytes()) + 11);
  }
  check_error_message<DataError>(
      [&] { split_tokens(write_tokens(folder.path("one"), letters(), {"abc"}), 0.1); },
      "has 1 documents, and the first document exceeds the training part");
  check_error_message<ArgumentError>([&] { split_tokens(plain, 1); },
                                     "validation_fraction must be in");
}

BOOST_AUTO_TEST_CASE(windows_from_files_equal_windows_from_memory) {
  const TemporaryFolder folder("sources");
  const TokenSet set = write_tokens(folder.path("set"), letters(true), sample_texts(200), 100);
  const TokenSplit split = split_tokens(set, 0.2);
  const TextData files({{split.train, 5}}, {split.validation});
  const std::vector<std::int32_t> ids = all_ids(set);
  const TextData memory({ids.begin(), ids.begin() + split.train.size},
                        std::span(ids).subspan(static_cast<std::size_t>(split.train.size)));
  for (std::int64_t step = 0; step < 20; ++step) {
    const TokenBatch a = files.random_windows(6, 9, 3, step),
                     b = memory.random_windows(6, 9, 3, step);
    BOOST_TEST(bitwise_equal(a.inputs, b.inputs));
    BOOST_TEST(bitwise_equal(a.targets, b.targets));
  }
  const ConsecutiveWindows x = files.validation_windows(4, 7), y = memory.validation_windows(4, 7);
  BOOST_REQUIRE(x.size() == y.size());
  for (std::int64_t i = 0; i < x.size(); ++i) BOOST_TEST(bitwise_equal(x[i].targets, y[i].targets));
}

BOOST_AUTO_TEST_CASE(sources_are_sampled_by_weight_and_shards_are_rows_of_the_batch) {
  const TemporaryFolder folder("sources");
  const std::vector<TokenSource> sources = [&] {
    write_tokens(folder.path("a"), letters(), Texts(50, "aaaa"));
    write_tokens(folder.path("b"), letters(), Texts(500, "bbbb"));
    write_tokens(folder.path("c"), letters(), Texts(5, "cccc"));
    return open_token_sources(
        Texts({folder.path("a=2"), folder.path("b") + "=5", folder.path("c-00000.tok=1")}));
  }();
  std::vector<WeightedPart> train;
  std::vector<TokenPart> validation;
  for (const TokenSource& source : sources) {
    TokenSplit split = split_tokens(source.set, 0.2);
    train.push_back({split.train, source.weight});
    validation.push_back(split.validation);
  }
  const TextData data(train, validation);
  std::map<double, int> seen;
  constexpr std::int64_t kSteps = 500, kBatch = 8, kLength = 5;
  for (std::int64_t step = 0; step < kSteps; ++step) {
    const TokenBatch batch = data.random_windows(kBatch, kLength, 11, step);
    for (std::int64_t row = 0; row < kBatch; ++row) {
      ++seen[batch.inputs.at(row * kLength)];
      for (std::int64_t i = 0; i < kLength; ++i)
        BOOST_TEST(batch.targets.at(row * kLength + i) == batch.inputs.at(row * kLength));
    }
    // The shards together contain the rows of the whole batch.
    for (std::int64_t shard = 0; shard < 4 && step < 10; ++shard) {
      const TokenBatch part = data.random_windows(kBatch, kLength, 11, BatchPart(step, shard, 4));
      for (std::int64_t i = 0; i < 2 * kLength; ++i)
        BOOST_TEST(part.inputs.at(i) == batch.inputs.at(shard * 2 * kLength + i));
    }
  }
  const double rows = static_cast<double>(kSteps * kBatch);
  for (const auto& [id, share] : {std::pair{0.0, 0.25}, {1.0, 0.625}, {2.0, 0.125}}) {
    const double deviation = std::sqrt(share * (1 - share) / rows);
    BOOST_TEST(std::abs(seen[id] / rows - share) < 5 * deviation);
  }
  // The validation set consists of the ends of all sources, and no window spans two sources.
  const ConsecutiveWindows windows = data.validation_windows(3, kLength);
  std::int64_t predictions = 0;
  for (std::int64_t w = 0; w < windows.size(); ++w) {
    const TokenBatch batch = windows[w];
    predictions += batch.tokens();
    for (std::int64_t i = 0; i < batch.tokens(); ++i)
      BOOST_TEST(batch.inputs.at(i) == batch.targets.at(i));
  }
  BOOST_TEST(predictions == data.predictions());
  BOOST_TEST(data.predictions() == 40 + 400 + 4 - 3);
  check_error_message<DataError>([&] { data.random_windows(1, 30, 1, 0); },
                                 "the training set of " + folder.path("c-00000.tok") +
                                     " has 16 tokens, but a window of 30 needs 31");
  check_error_message<ArgumentError>(
      [&] {
        TextData({{train.front().part, 0}}, {});
      },
      "must be positive, not 0");
  check_error_message<ArgumentError>([] { TextData(std::vector<WeightedPart>(), {}); },
                                     "no source");
}

/// Returns the anonymous memory of this process in bytes, or 0 if the system does not report it.
double anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return 1024 * std::stod(line.substr(8));
  }
  return 0;
}

/// A sparse token file of 8 GiB with ids of 2 bytes, almost all of which are 0 ("a"). It has 2^32
/// ids, so 32 bits are not enough to count them. is_usable() returns false if the disk is too full
/// or the file system does not support sparse files.
class SparseFile {
 public:
  static constexpr std::int64_t kTokens = std::int64_t{1} << 32, kDocument = 1 << 22, kLast = 2000;

  explicit SparseFile(const std::string& prefix) : path_(token_file_name(prefix, 0)) {
    const Tokenizer tokenizer = letters();
    const std::string type = tokenizer.type(), bytes = tokenizer.bytes();
    TokenFileHeader& header = header_;
    header.vocab = 26;
    header.tokens = header.bytes = static_cast<std::uint64_t>(kTokens);
    header.digest = tokenizer_digest(tokenizer);
    header.flags = TokenFileHeader::kLast;
    std::string& tables = tables_;
    const auto add = [&](const void* data, std::size_t size) {
      tables.append(static_cast<const char*>(data), size);
    };
    const auto end_document = [&](std::int64_t at) {
      add(&at, sizeof(at));
      add(&at, sizeof(at));
      ++header.documents;
    };
    for (std::int64_t end = kDocument; end < kTokens; end += kDocument) end_document(end);
    end_document(kTokens - kLast);
    end_document(kTokens);
    const std::vector<char> zeros(1 << 20);
    std::uint32_t zero_crc = 0;
    for (int i = 0; i < 64; ++i) zero_crc = crc32c(zeros.data(), zeros.size(), zero_crc);
    checksums_ = tables.size();
    for (int i = 0; i < 128; ++i) add(&zero_crc, sizeof(zero_crc));
    const auto type_size = static_cast<std::uint32_t>(type.size());
    header.tokenizer_bytes = sizeof(type_size) + type.size() + bytes.size();
    add(&type_size, sizeof(type_size));
    tables += type + bytes;
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    struct stat status {};
    usable_ = fd_ >= 0 && std::filesystem::space(path_).available > std::uint64_t{1} << 30 &&
              write_tables() && ::fstat(fd_, &status) == 0 &&
              status.st_blocks * 512 < std::int64_t{1} << 26;
  }
  ~SparseFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  SparseFile(const SparseFile&) = delete;
  SparseFile& operator=(const SparseFile&) = delete;

  bool is_usable() const { return usable_; }
  /// Writes the ids 1, 2, ..., starting at position `token`. Call update_checksums() afterwards.
  void count_from(std::int64_t token, std::uint16_t ids) {
    for (std::uint16_t i = 1; i <= ids; ++i) {
      const off_t at = 128 + 2 * (token + i - 1);
      BOOST_REQUIRE(::pwrite(fd_, &i, sizeof(i), at) == sizeof(i));
      changed_.insert(static_cast<std::size_t>(at - 128) / kTokenChecksumRange);
    }
  }
  void update_checksums() {
    std::vector<char> block(1 << 20);
    for (const std::size_t range : changed_) {
      std::uint32_t crc = 0;
      for (std::size_t at = 0; at < kTokenChecksumRange; at += block.size()) {
        const auto from = static_cast<off_t>(128 + range * kTokenChecksumRange + at);
        BOOST_REQUIRE(::pread(fd_, block.data(), block.size(), from) == std::ssize(block));
        crc = crc32c(block.data(), block.size(), crc);
      }
      std::memcpy(tables_.data() + checksums_ + range * sizeof(crc), &crc, sizeof(crc));
    }
    BOOST_REQUIRE(write_tables());
  }

 private:
  bool write_tables() {
    header_.tables_crc = crc32c(tables_.data(), tables_.size());
    header_.seal();
    const auto put = [&](const void* data, std::size_t size, std::uint64_t at) {
      return ::pwrite(fd_, data, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
    };
    return put(&header_, sizeof(header_), 0) &&
           put(tables_.data(), tables_.size(), token_tables_offset(2 * header_.tokens));
  }

  std::string path_;
  TokenFileHeader header_;
  std::string tables_;
  std::size_t checksums_ = 0;      // offset of the checksums in tables_
  std::set<std::size_t> changed_;  // ranges with ids that were written
  int fd_ = -1;
  bool usable_ = false;
};

BOOST_AUTO_TEST_CASE(training_on_an_8_gib_file_takes_little_memory) {
  const TemporaryFolder folder("sparse");
  SparseFile sparse(folder.path("big"));
  if (!sparse.is_usable() || anonymous_memory() == 0) {
    BOOST_TEST_MESSAGE("skipped: no room here for a sparse file of 8 GiB, or no /proc");
    return;
  }
  // Windows before, after and across the 4 GiB boundary, and at the end of the file.
  constexpr std::int64_t kHalf = SparseFile::kTokens / 2;
  const std::vector<std::int64_t> places = {100, kHalf - 10, kHalf + 12'345, 3'000'000'001,
                                            SparseFile::kTokens - 25};
  for (const std::int64_t place : places) sparse.count_from(place, 20);
  sparse.update_checksums();
  const double before = anonymous_memory();
  const TokenSet set = TokenSet::open(folder.path("big"));
  BOOST_TEST(set.tokens() == SparseFile::kTokens);
  const auto ids = std::make_shared<const TokensInFiles>(set);
  for (const std::int64_t place : places) {
    const TextData data({{{ids, place - 1, 22, "big"}}}, {{ids, place - 1, 22, "big"}});
    const TokenBatch window = data.random_windows(1, 21, 1, 0);
    for (std::int64_t i = 0; i < 21; ++i) {
      BOOST_TEST(window.inputs.at(i) == i);
      BOOST_TEST(window.targets.at(i) == (i == 20 ? 0 : i + 1));
    }
    BOOST_TEST(bitwise_equal(data.validation_windows(1, 21)[0].inputs, window.inputs));
  }
  BOOST_TEST(set.document_of(kHalf) == kHalf / SparseFile::kDocument);

  GptConfig config;
  config.layers = config.heads = 1;
  config.width = config.context = 16;
  config.vocab = 26;
  TrainSettings settings;
  settings.steps = 6;
  settings.batch = 8;
  settings.warmup = 1;
  settings.eval_every = 3;
  settings.validation_fraction = 1e-7;
  LanguageModel model = trainable(build_language_model(config, letters(), settings));
  const std::vector<TokenSource> sources =
      open_token_sources(std::vector<std::string>({folder.path("big")}));
  const LanguageData data = read_tokens(model, sources);
  BOOST_TEST(data.validation_bytes == SparseFile::kLast);
  Session session(*model.graph, model.store, {.seed = 1, .threads = 1});
  Trainer trainer(session, text_task(session, model, data, config.context), {.settings = settings});
  const TrainOutcome outcome = trainer.run();
  BOOST_TEST(outcome.step == 6);
  BOOST_TEST(std::isfinite(outcome.evaluation.loss));
  BOOST_TEST(anonymous_memory() - before < double{1 << 30});
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
