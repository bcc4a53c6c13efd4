import Foundation

/// The runtime's hook for errors that are thrown in this process.
///
/// Swift Testing keeps a backtrace of each error, in case a test fails because of it. That takes some hundred bytes for
/// each refused request, which a measurement of memory would count as the service's.
enum ThrownErrors {
    /// Removes the hook, so that no backtraces are kept from now on.
    static func forget() {
        setWillThrowHandler(nil)
        // Typed throws have a hook of their own, for which there is no function.
        guard let handler = dlsym(nil, "_swift_willThrowTypedImpl") else { return }
        handler.assumingMemoryBound(to: UnsafeRawPointer?.self).pointee = nil
    }
}

/// Sets the function that the runtime calls for each error that is thrown (`swift/Runtime/Error.h`).
@_silgen_name("_swift_setWillThrowHandler")
private func setWillThrowHandler(_ handler: UnsafeRawPointer?)
