/// The kinds of media servers whose callbacks the service supports.
package enum EventHooks {
    /// All hooks. A new one is added here and nowhere else.
    package static let all: [any EventHook] = [
        NginxRTMPHook(),
        SRSHook(),
        MediaMTXHook(),
        OvenMediaEngineHook(),
        AntMediaHook(),
        LiveKitHook(),
        TRTCHook(),
        AgoraHook(),
        ApsaraVideoHook(),
    ]
}
