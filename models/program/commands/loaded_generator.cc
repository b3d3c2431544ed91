#include "weft/models/program/commands/loaded_generator.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/options/generate_arguments.h"

namespace weft::program {

LoadedGenerator::LoadedGenerator(Use use, const std::string& file, int threads, const World& world)
    : path(file) {
  on_all_ranks(world, [&] { opened.emplace(load_model_for(use, path)); });
  session =
      std::make_unique<Session>(*model().graph, model().store,
                                session_options(model(), {.threads = threads, .world = world}));
  generator = opened->task.text_generator(*session, model());
}

TokenIds LoadedGenerator::start_ids(const std::string& given) const {
  if (!given.empty()) return parse_ids("--start-ids", given);
  TokenIds start = generator->options().start;
  if (start.empty())
    throw ArgumentError(fmt::format("{} sets no decoder_start_token_id: give --start-ids", path));
  return start;
}

}  // namespace weft::program
