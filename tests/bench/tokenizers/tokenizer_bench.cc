// Encodes a corpus with a tokenizer. compare.py starts this program and compares it with other
// libraries.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/parallel.h"
#include "weft/models/text/tokenizers/tokenizer.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/serialization/files/read_file.h"

namespace weft {
namespace {

constexpr const char* kUsage = R"(usage: weft_tokenizer_bench FOLDER CORPUS THREADS

FOLDER contains a tokenizer (such as tokenizer.json), CORPUS documents that are each followed by a
zero byte. Prints the time to load the tokenizer. Then, for every line of standard input, encodes
all documents to ids and offsets, 256 documents at a time, and prints the seconds. The line selects
the unit of offsets: "bytes", which is Weft's native one, or "points" (code points); "digest" is
like "points" and also prints a digest of ids and offsets.
)";

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<TokenizerInput> documents_of(std::string_view corpus) {
  std::vector<TokenizerInput> documents;
  while (!corpus.empty()) {
    const std::size_t end = corpus.find('\0');
    documents.push_back({corpus.substr(0, end)});
    corpus.remove_prefix(end == std::string_view::npos ? corpus.size() : end + 1);
  }
  return documents;
}

/// Position-weighted sums of ids and of offsets, which are easy to compute in any language.
struct Digest {
  std::uint64_t ids = 0, offsets = 0, count = 0;

  void add(const Encoding& encoding) {
    for (std::size_t i = 0; i < encoding.size(); ++i) {
      const auto place = static_cast<std::uint32_t>(++count % 1009 + 1);
      ids += static_cast<std::uint64_t>(encoding.ids[i]) * place;
      offsets += (encoding.spans[i].begin + std::uint64_t{2} * encoding.spans[i].end) * place;
    }
  }
};

int run(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  const auto start = Clock::now();
  const FolderTokenizer read = read_tokenizer_folder(argv[1]);
  const double load = seconds_since(start);
  if (!read.tokenizer) throw FormatError(read.missing);
  const Tokenizer& tokenizer = *read.tokenizer;
  Workers workers({.threads = std::stoi(argv[3])});
  const std::string corpus = read_whole_file(argv[2]);
  const std::vector<TokenizerInput> documents = documents_of(corpus);
  fmt::print("{{\"load\": {}}}\n", load);
  std::fflush(stdout);

  const EncodeOptions options{.add_special = false};
  for (std::string line; std::getline(std::cin, line);) {
    const bool digest_it = line == "digest", bytes = line == "bytes";
    Digest digest;
    double seconds = 0;
    for (std::size_t i = 0; i < documents.size(); i += 256) {
      const auto batch =
          std::span(documents).subspan(i, std::min<std::size_t>(256, documents.size() - i));
      std::vector<Encoding> encodings(batch.size());
      const auto begin = Clock::now();
      workers.for_chunks(static_cast<std::int64_t>(batch.size()), [&](std::int64_t i, int) {
        const auto at = static_cast<std::size_t>(i);
        encodings[at] = tokenizer.encode_pair(batch[at], options);
        if (!bytes) encodings[at].spans = in_code_points(encodings[at], batch[at].first);
      });
      seconds += seconds_since(begin);
      if (digest_it)
        for (const Encoding& encoding : encodings) digest.add(encoding);
    }
    fmt::print("{{\"seconds\": {}, \"count\": {}, \"ids\": {}, \"offsets\": {}}}\n", seconds,
               digest.count, digest.ids, digest.offsets);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) try {
  return weft::run(argc, argv);
} catch (const std::exception& e) {
  fmt::print(stderr, "weft_tokenizer_bench: {}\n", e.what());
  return 1;
}
