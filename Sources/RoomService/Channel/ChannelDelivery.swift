import NIOCore
import RoomChannel
import Synchronization

/// A notice to be delivered to the viewers of a channel, who share its encoded forms. Thread-safe.
package final class ChannelDelivery: Sendable {
    /// The name of an encoded form. Each kind of viewer has its own form.
    package struct Form: Hashable, Sendable {
        package var name: String
        package init(_ name: String) { self.name = name }
    }

    package let notice: ChannelNotice
    private let forms = Mutex<[Form: ByteBuffer]>([:])

    package init(_ notice: ChannelNotice) { self.notice = notice }

    /// Returns an encoded form, which is made when it is first requested.
    package func bytes(_ form: Form, _ make: (ChannelNotice) -> ByteBuffer) -> ByteBuffer {
        forms.withLock { forms in
            if let bytes = forms[form] { return bytes }
            let bytes = make(notice)
            forms[form] = bytes
            return bytes
        }
    }
}
