import MixModel

extension VideoEncoder {
    /// Number of the mix's H.264 SPS and PPS. Sources nearly always use 0. With another number, a viewer's parser can
    /// keep both sets and reads the access units around a splice with the right one.
    private static let parameterSetID = 7

    /// Returns the elements, as a pipeline names them, that turn pictures into access units with their configuration.
    /// None of them holds pictures back.
    static func elements(_ setup: MixerSetup, colour: CanvasColour, tuning: EncoderTuning) -> [String] {
        let kilobits = max(1, setup.videoBitrate / 1000)
        switch setup.videoCodec ?? .h264 {
        case .h264:
            // The caps after the encoder select the profile.
            let profile =
                switch setup.profile {
                case nil: ""
                case .baseline: ",profile=constrained-baseline"
                case .main: ",profile=main"
                case .high: ",profile=high"
                }
            // `insert-vui` would signal the raw caps, which cannot leave the colour unsignalled; x264's own options
            // can.
            return [
                """
                x264enc tune=zerolatency speed-preset=\(setup.preset?.rawValue ?? tuning.preset) threads=\(tuning.threads) bitrate=\(kilobits) \
                vbv-buf-capacity=1000 key-int-max=\(setup.keyframeDistance) bframes=0 byte-stream=false aud=false \
                insert-vui=false option-string="weightp=0:sps-id=\(parameterSetID):\(colour.x264Options)"
                """,
                "video/x-h264,stream-format=avc,alignment=au\(profile)",
            ]
        case .h265:
            // The threads of a pool work on one picture; without a pool there is one thread. All keyframes are IDR
            // frames with closed groups. The encoder delivers a byte stream.
            let preset = setup.preset?.rawValue ?? tuning.h265Preset
            let pools = tuning.threads > 1 ? "\(tuning.threads)" : "none"
            return [
                """
                x265enc tune=zerolatency speed-preset=\(preset) bitrate=\(kilobits) key-int-max=\(setup.keyframeDistance) \
                option-string="pools=\(pools):info=0:open-gop=0:vbv-maxrate=\(kilobits):vbv-bufsize=\(kilobits)\(colour.x265Options)"
                """,
                "h265parse", "video/x-h265,stream-format=hvc1,alignment=au",
            ]
        }
    }
}
