#include "weft/models/zoo/data/instruction_tuning_data.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "weft/core/error.h"
#include "weft/serialization/files/atomic_file.h"

namespace weft::zoo {

InstructionTuningData::InstructionTuningData(bool small)
    : book(make_statements(small ? 500 : 200'000, 1)),
      learned(make_instructions({.count = small ? 200 : 32'000})),
      known(make_instructions(
          {.count = small ? 32 : 480, .seed = 2, .arguments = InstructionPart::test})),
      asked(make_instructions({.count = small ? 32 : 480,
                               .seed = 3,
                               .phrasings = InstructionPart::test,
                               .arguments = InstructionPart::test})) {}

void InstructionTuningData::write(const std::string& folder) const {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw IoError(fmt::format("cannot create folder \"{}\": {}", folder, error.message()));
  const auto to = [&](const char* name, std::string_view text) {
    AtomicFile file((std::filesystem::path(folder) / name).string());
    file.write(text.data(), text.size());
    file.commit();
  };
  to("book.txt", book);
  to("learned.jsonl", instruction_lines(learned));
  to("known.jsonl", instruction_lines(known));
  to("asked.jsonl", instruction_lines(asked));
}

}  // namespace weft::zoo
