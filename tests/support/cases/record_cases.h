// Checks of properties that must hold for every call of every record, with one case per call. All
// functions return a description of the failure, or "" if the property holds or the op rejects the
// case.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/tests/support/cases/vary_sample.h"

namespace weft::testing {

// -- Checks of an op record, and of its kernel in isolation
// -------------------------------------------------------------

/// Checks that the record has documentation and samples, that it has a gradient rule, a definition
/// or a reason for having neither, and that its in-place pairs refer to existing operands.
std::string check_complete(const OpRecord& op);

/// Checks that the error sample causes its error message, that the message starts with the op, and
/// that it contains an operand and the source line of the caller.
std::string check_error_sample(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                               const OpErrorSample& sample);

/// Checks three things: the kernel accesses only its operands and its scratch memory (there are
/// inaccessible pages on either side of each); it gives the same bits for any order of chunks, any
/// alignment, unused outputs and in-place operands, as far as the record allows them; and its costs
/// are plausible numbers.
std::string check_kernel(const OpRecord& op, const OpSample& sample, Draw& draw);

/// Returns the results of the kernel in double. Empty for ops that draw random numbers or round by
/// design.
std::vector<Tensor> double_results(const OpRecord& op, const OpSample& sample);
/// Compares the results of the kernel with `expected`, with a tolerance of 2e-5 times the largest
/// element.
std::string check_against_double(const OpRecord& op, const OpSample& sample,
                                 const std::vector<Tensor>& in_double);

// -- In graphs ------------------------------------------------------------------------------------

/// Checks that the kernel agrees with OpRecord::definition in double, with a tolerance of 1e-10.
std::string check_definition(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                             const OpSample& sample);

/// Checks gradients against finite differences, sometimes including second-order gradients.
std::string check_differences(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                              const OpSample& sample, Draw& draw);

/// Checks that the op gives the same bits however it is run in a Session (passes, threads, orders,
/// poisoned memory, memory budget, earlier runs), surrounded by other ops, with all kinds of
/// operands and symbolic sizes.
std::string check_neighbours(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                             const OpSample& sample, Draw& draw);
/// As above, for the gradients of the op.
std::string check_gradient_run_variants(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                                        const OpSample& sample, Draw& draw);

/// Checks that parsing the program's text gives the same program. In some cases, also checks that
/// loading it from a file in `folder` gives the same program.
std::string check_round_trip_of(const std::shared_ptr<const OpSet>& ops, const OpRecord& op,
                                const OpSample& sample, Draw& draw, const std::string& folder);

}  // namespace weft::testing
