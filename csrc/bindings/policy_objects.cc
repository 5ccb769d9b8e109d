#include "csrc/bindings/policy_objects.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "csrc/bindings/conversions.h"
#include "csrc/bindings/enumerator_names.h"

namespace kvswap::bindings {
namespace {

using namespace pybind11::literals;

constexpr int32_t kAny = -1;

// Reads the fields of a kvswap.PolicyRule; None stands for what C's "any" or
// zero does.
class RuleReader {
 public:
  RuleReader(py::handle rule, const std::string& name)
      : rule_(rule), name_(name) {}

  int32_t Name(const char* field, const Enumeration& enumeration,
               int32_t number_of_none, int32_t first) const {
    const py::object value = rule_.attr(field);
    if (value.is_none()) return number_of_none;
    return ParseName(value, Title(field).c_str(), enumeration, first);
  }

  template <typename Integer>
  Integer Count(const char* field) const {
    const py::object value = rule_.attr(field);
    if (value.is_none()) return 0;
    if (PyLong_Check(value.ptr()) == 0 || PyBool_Check(value.ptr())) {
      throw py::type_error(Title(field) + " must be an int or None, not " +
                           DescribeType(value));
    }
    const size_t number = PyLong_AsSize_t(value.ptr());
    const auto most = static_cast<size_t>(std::numeric_limits<Integer>::max());
    if (PyErr_Occurred() != nullptr || number == 0 || number > most) {
      PyErr_Clear();
      throw py::value_error(Title(field) + " must be from 1 to " +
                            std::to_string(most) + ", or None, not " +
                            Represent(value));
    }
    return static_cast<Integer>(number);
  }

 private:
  std::string Title(const char* field) const { return name_ + ": " + field; }

  const py::handle rule_;
  const std::string& name_;
};

kvswap_policy_rule ReadRule(py::handle rule, const std::string& name) {
  const RuleReader reader(rule, name);
  kvswap_policy_rule read = {};
  read.direction = reader.Name("direction", kDirections, kAny, 0);
  read.priority = reader.Name("priority", kPriorities, kAny, 0);
  read.copy_engine = reader.Name("copy_engine", kEngines, KVSWAP_ENGINE_AUTO,
                                 KVSWAP_ENGINE_AUTO + 1);
  read.max_size = reader.Count<size_t>("max_size");
  read.min_count = reader.Count<size_t>("min_count");
  read.engine = reader.Name("engine", kEngines, KVSWAP_ENGINE_AUTO,
                            KVSWAP_ENGINE_AUTO + 1);
  read.kernel = reader.Name("kernel", kKernels, KVSWAP_KERNEL_NONE,
                            KVSWAP_KERNEL_NONE + 1);
  read.ctas = reader.Count<int32_t>("ctas");
  read.threads = reader.Count<int32_t>("threads");
  read.stages = reader.Count<int32_t>("stages");
  read.stage_bytes = reader.Count<int32_t>("stage_bytes");
  return read;
}

py::object NameOrNone(int32_t number, int32_t number_of_none,
                      const Enumeration& enumeration) {
  if (number == number_of_none) return py::none();
  return py::str(enumeration.name_of(number));
}

template <typename Integer>
py::object CountOrNone(Integer number) {
  if (number == 0) return py::none();
  return py::int_(number);
}

// Keyword arguments of kvswap.PolicyRule.
py::dict FieldsOf(const kvswap_policy_rule& rule) {
  return py::dict(
      "direction"_a = NameOrNone(rule.direction, kAny, kDirections),
      "priority"_a = NameOrNone(rule.priority, kAny, kPriorities),
      "copy_engine"_a =
          NameOrNone(rule.copy_engine, KVSWAP_ENGINE_AUTO, kEngines),
      "max_size"_a = CountOrNone(rule.max_size),
      "min_count"_a = CountOrNone(rule.min_count),
      "engine"_a = kvswap_engine_name(rule.engine),
      "kernel"_a = NameOrNone(rule.kernel, KVSWAP_KERNEL_NONE, kKernels),
      "ctas"_a = CountOrNone(rule.ctas),
      "threads"_a = CountOrNone(rule.threads),
      "stages"_a = CountOrNone(rule.stages),
      "stage_bytes"_a = CountOrNone(rule.stage_bytes));
}

// The rules of a kvswap.Policy, checked and converted once.
class PolicyRules {
 public:
  explicit PolicyRules(const py::sequence& rules) {
    const py::object type =
        py::module_::import("kvswap.policies").attr("PolicyRule");
    for (const py::handle rule : rules) {
      const std::string name =
          "rule " + std::to_string(rules_.size()) + " of the policy";
      if (!py::isinstance(rule, type)) {
        throw py::type_error(name + " must be a kvswap.PolicyRule, not " +
                             DescribeType(rule));
      }
      rules_.push_back(ReadRule(rule, name));
    }
    policy_.rules = rules_.data();
    policy_.rule_count = rules_.size();
    LetLibraryCheck();
  }
  PolicyRules(const PolicyRules&) = delete;
  PolicyRules& operator=(const PolicyRules&) = delete;

  const kvswap_policy* policy() const { return &policy_; }

 private:
  // What the C ABI checks of a policy: by a plan of no copies, which asks
  // nothing of the driver.
  void LetLibraryCheck() const {
    kvswap_options options = KVSWAP_OPTIONS_INIT;
    options.policy = &policy_;
    kvswap_plan plan = KVSWAP_PLAN_INIT;
    kvswap_result result = KVSWAP_RESULT_INIT;
    const int status = kvswap_plan_blocks_batch(
        nullptr, nullptr, nullptr, 0, nullptr, &options, &plan, &result);
    ThrowUnlessOk(status, result);
  }

  std::vector<kvswap_policy_rule> rules_;
  kvswap_policy policy_ = KVSWAP_POLICY_INIT;
};

void SetPolicy(py::handle policy) {
  const py::object rules = FindRules(policy);
  kvswap_result result = KVSWAP_RESULT_INIT;
  const int status = kvswap_set_policy(PolicyOf(rules), &result);
  ThrowUnlessOk(status, result);
}

// The rules in force, each as its fields.
py::list PolicyInForce(int32_t compute_capability) {
  std::vector<kvswap_policy_rule> rules;
  size_t count = 0;
  // Another thread may set a policy in between.
  do {
    rules.resize(count);
    kvswap_get_policy(compute_capability, rules.data(), rules.size(), &count);
  } while (count != rules.size());
  py::list fields;
  for (const kvswap_policy_rule& rule : rules) fields.append(FieldsOf(rule));
  return fields;
}

}  // namespace

py::object FindRules(py::handle policy) {
  if (policy.is_none()) return py::object();
  static PyObject* const native = Intern("_native");
  py::object rules = FindAttribute(policy, native);
  if (!rules || !py::isinstance<PolicyRules>(rules)) {
    throw py::type_error("policy must be a kvswap.Policy or None, not " +
                         DescribeType(policy));
  }
  return rules;
}

const kvswap_policy* PolicyOf(const py::object& rules) {
  return rules ? rules.cast<const PolicyRules&>().policy() : nullptr;
}

void AddPolicyObjects(py::module_& module) {
  py::class_<PolicyRules>(module, "_PolicyRules", "The rules of a policy.")
      .def(py::init<const py::sequence&>());
  module.def("_set_policy", &SetPolicy);
  module.def("_policy_in_force", &PolicyInForce);
}

}  // namespace kvswap::bindings
