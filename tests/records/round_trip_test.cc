// Every use of every record, in text and in a file: what comes back is the same program.
#include <array>
#include <boost/test/unit_test.hpp>

#include "weft/graph/ir/difference.h"
#include "weft/graph/text/text.h"
#include "weft/serialization/checkpoint.h"
#include "weft/tests/records/fuzz_loop.h"
#include "weft/tests/records/session_case.h"
#include "weft/tests/serialization/file_bytes.h"

namespace weft::testing {
namespace {

std::string check_text(const Program& program) {
  TextConstants constants;
  const std::string text = to_text(program, {.constants = &constants});
  const Module parsed = parse_text(text, {.constants = &constants});
  const std::string wrong = difference(program, parsed.program);
  if (!wrong.empty()) return "from text: " + wrong + "\n" + text;
  TextConstants again;
  return to_text(parsed.program, {.constants = &again}) == text ? "" : "another text:\n" + text;
}

std::string check_file(const SessionCase& built, const std::string& path) {
  const auto value = [&](const VariableInfo& info) -> Tensor {
    for (const auto& [name, tensor] : built.parameters()) {
      if (name == info.name) return tensor;
    }
    return {};
  };
  write_checkpoint(path, {built.program()}, value);
  const Checkpoint loaded = load_checkpoint(path, {.verify = true});
  return difference(built.program(), loaded.programs().at(0));
}

BOOST_AUTO_TEST_SUITE(record_round_trips)

BOOST_AUTO_TEST_CASE(text_and_files_keep_every_use) {
  const TemporaryFolder folder;
  const auto check = [&](const OpRecord& op, const OpSample& sample, Draw& draw) -> std::string {
    Surroundings surroundings{.neighbours_seed = draw.one_in(2) ? draw.bits() | 1 : 0};
    const auto symbolic = symbolise(op, sample, Equalities::solve,
                                    [&](std::int64_t size) { return size == 1 || draw.one_in(2); });
    if (symbolic && !symbolic->contradicted && draw.one_in(2)) {
      surroundings.symbolic = &*symbolic;
    } else {
      constexpr std::array kRoles = {Role::fed, Role::constant, Role::parameter};
      for (const Tensor& t : sample.inputs)
        surroundings.roles.push_back(t.defined() ? draw.pick(kRoles) : Role::fed);
    }
    std::optional<SessionCase> built;
    try {
      built.emplace(op, sample, surroundings);
    } catch (const Error&) {
      return "";  // an illegal case
    }
    if (built->empty()) return "";
    const std::string wrong = check_text(built->program());
    if (!wrong.empty() || !draw.one_in(3)) return wrong;
    return check_file(*built, folder / "case.weft");
  };
  fuzz_records({.cases_per_op = 12,
                .vary = [](Draw&) { return VaryOptions{.elements = 512, .beside_zero = 1 << 20}; }},
               check);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft::testing
