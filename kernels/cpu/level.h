/* level.h - the instruction set of a source file, and the suffix of its functions.
 *
 * DESIGN. The files vec_*.c are compiled once per instruction set ("level"), with flags and
 * CS_LEVEL, the level's name, from Makefile.am. Functions shared between these files get the
 * level's name as a suffix, so all levels link into one program; cpu.c chooses one at run time. All
 * other functions of these files are static, so a level cannot call another level's code.
 */
#ifndef CS_KERNELS_CPU_LEVEL_H
#define CS_KERNELS_CPU_LEVEL_H

#ifndef CS_LEVEL
#define CS_LEVEL any             /* plain C: see vec_any.h */
#endif

#define CS_INLINE __attribute__((always_inline)) static inline

#define CS_LEVEL_PASTE(name, level) name##_##level
#define CS_LEVEL_JOIN(name, level)  CS_LEVEL_PASTE(name, level)
#define CS_AT_LEVEL(name)           CS_LEVEL_JOIN(name, CS_LEVEL)

/** CS_LEVEL_IS - compare CS_LEVEL in #if: CS_LEVEL_IS(avx2) */
#define CS_LEVEL_NUMBER_any    0
#define CS_LEVEL_NUMBER_avx2   1
#define CS_LEVEL_NUMBER_avx512 2
#define CS_LEVEL_NUMBER_neon   3
#define CS_LEVEL_NUMBER_bf16   4     /* products of bf16 over avx512: see cell.h */
#define CS_LEVEL_NUMBER_amx    5     /* the same by tile registers: see vec_tiles.c */
#define CS_LEVEL_NUMBER_bfmmla 6     /* products of bf16 over neon */
#define CS_LEVEL_IS(level)     (CS_AT_LEVEL(CS_LEVEL_NUMBER) == CS_LEVEL_NUMBER_##level)

/** CS_LEVEL_PAIRS - do products take pairs of bf16 (cell.h)? */
#define CS_LEVEL_PAIRS         (CS_LEVEL_IS(bf16) || CS_LEVEL_IS(amx) || CS_LEVEL_IS(bfmmla))

/* tables.h */
#define cs_level_fill         CS_AT_LEVEL(cs_level_fill)
#define cs_vec_gemm           CS_AT_LEVEL(cs_vec_gemm)
#define cs_vec_affine         CS_AT_LEVEL(cs_vec_affine)
#define cs_vec_elt            CS_AT_LEVEL(cs_vec_elt)
#define cs_vec_attn           CS_AT_LEVEL(cs_vec_attn)
#define cs_vec_bag            CS_AT_LEVEL(cs_vec_bag)
#define cs_vec_norm           CS_AT_LEVEL(cs_vec_norm)
#define cs_vec_seg            CS_AT_LEVEL(cs_vec_seg)
#define cs_vec_softmax        CS_AT_LEVEL(cs_vec_softmax)
#define cs_vec_conv           CS_AT_LEVEL(cs_vec_conv)
#define cs_vec_conv_weight    CS_AT_LEVEL(cs_vec_conv_weight)
#define cs_vec_conv_epilogue      CS_AT_LEVEL(cs_vec_conv_epilogue)
#define cs_vec_epilogue_bwd       CS_AT_LEVEL(cs_vec_epilogue_bwd)
#define cs_vec_sparse         CS_AT_LEVEL(cs_vec_sparse)
#define cs_vec_chord          CS_AT_LEVEL(cs_vec_chord)
#define cs_vec_chord_block    CS_AT_LEVEL(cs_vec_chord_block)

/* vec.h, gemm.h */
#if CS_LEVEL_IS(bfmmla)              /* without products: those of the level below */
#define cs_piece_move         cs_piece_move_neon
#define cs_mean_rows          cs_mean_rows_neon
#elif CS_LEVEL_PAIRS
#define cs_piece_move         cs_piece_move_avx512
#define cs_mean_rows          cs_mean_rows_avx512
#else
#define cs_piece_move         CS_AT_LEVEL(cs_piece_move)
#define cs_mean_rows          CS_AT_LEVEL(cs_mean_rows)
#endif
#define cs_panel_of           CS_AT_LEVEL(cs_panel_of)
#define cs_panel_run          CS_AT_LEVEL(cs_panel_run)
#define cs_panel_done         CS_AT_LEVEL(cs_panel_done)
#define cs_pack_panel         CS_AT_LEVEL(cs_pack_panel)
#define cs_cells_transposed   CS_AT_LEVEL(cs_cells_transposed)
#define cs_pack               CS_AT_LEVEL(cs_pack)

/* chord.h */
#define cs_chord_pack_matrix  CS_AT_LEVEL(cs_chord_pack_matrix)
#define cs_chord_pack_bias    CS_AT_LEVEL(cs_chord_pack_bias)
#define cs_chord_pack_at      CS_AT_LEVEL(cs_chord_pack_at)
#define cs_chord_pack_size    CS_AT_LEVEL(cs_chord_pack_size)
#define cs_chord_pack_fill    CS_AT_LEVEL(cs_chord_pack_fill)
#define cs_tile_init          CS_AT_LEVEL(cs_tile_init)
#define cs_chord_layout       CS_AT_LEVEL(cs_chord_layout)
#define cs_chord_layout_size  CS_AT_LEVEL(cs_chord_layout_size)
#define cs_chord_hidden       CS_AT_LEVEL(cs_chord_hidden)
#define cs_chord_hidden_cells CS_AT_LEVEL(cs_chord_hidden_cells)
#define cs_chord_seq_tile     CS_AT_LEVEL(cs_chord_seq_tile)
#define cs_chord_seq_tmp      CS_AT_LEVEL(cs_chord_seq_tmp)
#define cs_chord_seq_deferred     CS_AT_LEVEL(cs_chord_seq_deferred)
#define cs_chord_seq_partition CS_AT_LEVEL(cs_chord_seq_partition)
#define cs_chord_seq_block    CS_AT_LEVEL(cs_chord_seq_block)
#define cs_chord_plan_make    CS_AT_LEVEL(cs_chord_plan_make)
#define cs_chord_fits         CS_AT_LEVEL(cs_chord_fits)
#define cs_chord_bwd          CS_AT_LEVEL(cs_chord_bwd)

#endif
