// FunctionRef: a function that somebody else owns, for the time of a call.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace rondo {

template <class Signature>
class FunctionRef;

// Refers to anything that can be called as R(Args...), and takes no memory for
// it as std::function may. What it refers to must outlive it, so it is for
// parameters: a lambda written in the call lives as long as the call.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> &&
           std::is_object_v<std::remove_reference_t<F>> &&
           std::is_invocable_r_v<R, F&, Args...>)
      FunctionRef(F&& function)  // NOLINT(google-explicit-constructor)
      : function_(const_cast<void*>(
            static_cast<const void*>(std::addressof(function)))),
        call_([](void* f, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(f))(
              std::forward<Args>(args)...);
        }) {}

  R operator()(Args... args) const {
    return call_(function_, std::forward<Args>(args)...);
  }

 private:
  void* function_;
  R (*call_)(void*, Args...);
};

}  // namespace rondo
