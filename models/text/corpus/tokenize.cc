#include "weft/models/text/corpus/tokenize.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/parallel.h"

namespace weft {
namespace {

// Amount of text that is tokenized at a time, which is enough for many threads.
constexpr std::size_t kBatchBytes = std::size_t{1} << 24;
constexpr std::size_t kBatchPieces = std::size_t{1} << 16;

/// A piece and the result of tokenizing it.
struct Job {
  DocumentPiece piece;
  std::vector<std::int32_t> ids = {};
  std::exception_ptr error = {};
};

class Tokenizing {
 public:
  Tokenizing(const Tokenizer& tokenizer, const TokenizeOptions& options, TokenSetWriter& writer)
      : tokenizer_(tokenizer), options_(options), writer_(writer), workers_({options.threads}) {
    for (std::int64_t id = 0; id < tokenizer.vocab_size(); ++id)
      special_.push_back(tokenizer.is_special(static_cast<std::int32_t>(id)) &&
                         id != tokenizer.unk_id());
  }

  /// Tokenizes a file. Calls `on_batch` after each batch.
  void file(const CorpusFile& file, const std::function<void(std::uint64_t bytes_read)>& on_batch) {
    const std::unique_ptr<DocumentReader> reader = open_corpus_file(file, options_.corpus);
    DocumentPiece piece;
    while (reader->next(piece)) {
      bytes_ += piece.text.size();
      jobs_.push_back({std::move(piece)});
      if (bytes_ < kBatchBytes && jobs_.size() < kBatchPieces) continue;
      encode(file.path);
      on_batch(reader->bytes_read());
    }
    encode(file.path);
  }

 private:
  std::vector<std::int32_t> encode(const DocumentPiece& piece) const {
    const TextPlace place = piece.begins ? TextPlace::beginning : TextPlace::middle;
    std::vector<std::int32_t> ids = tokenizer_.encode(piece.text, place);
    // Names of special tokens are rare, so the text is encoded again only if there are any.
    const bool special = std::any_of(ids.begin(), ids.end(), [&](std::int32_t id) {
      return special_[static_cast<std::size_t>(id)];
    });
    if (options_.special_in_text || !special) return ids;
    return tokenizer_
        .encode_text(piece.text, {.add_special = false, .special_in_text = false, .place = place})
        .ids;
  }

  void encode(const std::string& path) {
    workers_.for_chunks(std::ssize(jobs_), [&](std::int64_t i, int) {
      Job& job = jobs_[static_cast<std::size_t>(i)];
      try {
        job.ids = encode(job.piece);
      } catch (...) {
        job.error = std::current_exception();
      }
    });
    for (const Job& job : jobs_) {
      if (job.error) rethrow_with_place(job, path);
      writer_.add(job.ids, job.piece.text.size());
      writer_.mark();
      if (job.piece.ends) writer_.end_document();
    }
    jobs_.clear();
    bytes_ = 0;
  }

  static void rethrow_with_place(const Job& job, const std::string& path) {
    try {
      std::rethrow_exception(job.error);
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("{}, text starting at line {}: {}", path, job.piece.line, e.what()));
    }
  }

  const Tokenizer& tokenizer_;
  const TokenizeOptions& options_;
  TokenSetWriter& writer_;
  Workers workers_;
  std::vector<bool> special_;  // by id, without the unknown id
  std::vector<Job> jobs_;
  std::size_t bytes_ = 0;
};

}  // namespace

void tokenize(std::span<const CorpusFile> files, const Tokenizer& tokenizer,
              const TokenizeOptions& options, TokenSetWriter& writer,
              const std::function<void(const TokenizeProgress&)>& progress) {
  Tokenizing work(tokenizer, options, writer);
  std::uint64_t before = 0;  // total size of the finished files
  const auto report = [&](std::uint64_t bytes) {
    if (progress) progress({before + bytes, writer.totals()});
  };
  for (const CorpusFile& file : files) {
    work.file(file, report);
    before += file.bytes;
    report(0);
  }
}

}  // namespace weft
