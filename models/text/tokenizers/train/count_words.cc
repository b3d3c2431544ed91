#include "weft/models/text/tokenizers/train/count_words.h"

#include <string>
#include <vector>

#include "weft/models/text/tokenizers/base/split_text.h"
#include "weft/models/text/unicode/repair.h"

namespace weft {
namespace {

// Number of bytes per thread that are read before their words are counted.
constexpr std::size_t kBytesPerThread = 4 * kTextPartBytes;
constexpr double kNanosecondsPerByte = 20;

}  // namespace

WordTable count_parts(TextSource& texts, Workers& workers, CountPart count) {
  std::vector<WordTable> tables(static_cast<std::size_t>(workers.slots()));
  std::vector<std::string> parts;
  for (bool more = true; more;) {
    std::size_t filled = 0, bytes = 0;
    while (bytes < kBytesPerThread * tables.size()) {
      if (filled == parts.size()) parts.emplace_back();
      more = texts.next(parts[filled]);
      if (!more) break;
      bytes += parts[filled++].size();
    }
    workers.for_chunks(
        static_cast<std::int64_t>(filled),
        [&](std::int64_t i, int slot) {
          count(parts[static_cast<std::size_t>(i)], tables[static_cast<std::size_t>(slot)], slot);
        },
        static_cast<double>(bytes) * kNanosecondsPerByte);
  }
  WordTable words = std::move(tables.front());
  for (std::size_t i = 1; i < tables.size(); ++i) {
    words.add(tables[i]);
    tables[i] = WordTable();  // frees memory early
  }
  return words;
}

WordTable count_words(TextSource& texts, const NormalizerPtr& normalizer,
                      const PreTokenizerPtr& pre_tokenizer, bool takes_bytes, Workers& workers) {
  std::vector<SplitText> workspaces(static_cast<std::size_t>(workers.slots()));
  const auto count = [&](std::string_view text, WordTable& words, int slot) {
    if (text.empty()) return;
    SplitText& parts = workspaces[static_cast<std::size_t>(slot)];
    const std::string fixed =
        find_invalid_utf8(text) == text.size() ? std::string() : repaired(text);
    parts.text.assign(fixed.empty() ? text : std::string_view(fixed));
    parts.parts.assign(1, {0, parts.text.size(), -1});
    parts.takes_bytes = takes_bytes;
    parts.bytes = false;
    if (normalizer != nullptr) normalizer->normalise(parts);
    if (pre_tokenizer != nullptr) pre_tokenizer->split(parts);
    for (const TextPart& part : parts.parts) words.add(parts.view(part));
  };
  return count_parts(texts, workers, count);
}

}  // namespace weft
