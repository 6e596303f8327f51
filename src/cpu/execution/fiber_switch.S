/* Switching stacks. Declared and explained in fiber_switch.h. */

#if defined(__x86_64__)

        .text

/* void cpu_enter(void **saved, void *top, void (*function)(void *), void *argument) */
        .globl  cpu_enter
        .hidden cpu_enter
        .type   cpu_enter, @function
        .p2align 4
cpu_enter:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp      /* the function keeps %rbp: debuggers see through to the host's stack */
        pushq   %rbx
        .cfi_offset %rbx, -24
        pushq   %r12
        .cfi_offset %r12, -32
        pushq   %r13
        .cfi_offset %r13, -40
        pushq   %r14
        .cfi_offset %r14, -48
        pushq   %r15
        .cfi_offset %r15, -56
        subq    $8, %rsp
        stmxcsr (%rsp)
        fnstcw  4(%rsp)
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        ldmxcsr default_mxcsr(%rip)
        fldcw   default_control(%rip)
        movq    %rcx, %rdi
        callq   *%rdx
        leaq    -48(%rbp), %rsp
leave_here:
        .cfi_def_cfa %rsp, 64
        ldmxcsr (%rsp)
        fldcw   4(%rsp)
        addq    $8, %rsp
        .cfi_def_cfa_offset 56
        popq    %r15
        .cfi_def_cfa_offset 48
        .cfi_restore %r15
        popq    %r14
        .cfi_def_cfa_offset 40
        .cfi_restore %r14
        popq    %r13
        .cfi_def_cfa_offset 32
        .cfi_restore %r13
        popq    %r12
        .cfi_def_cfa_offset 24
        .cfi_restore %r12
        popq    %rbx
        .cfi_def_cfa_offset 16
        .cfi_restore %rbx
        popq    %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   cpu_enter, .-cpu_enter

/* void cpu_leave(void *saved): the kernel may have been interrupted anywhere, with the x87 stack in use. */
        .globl  cpu_leave
        .hidden cpu_leave
        .type   cpu_leave, @function
        .p2align 4
cpu_leave:
        .cfi_startproc
        .cfi_undefined %rip
        movq    %rdi, %rsp
        cld
        fninit
        jmp     leave_here
        .cfi_endproc
        .size   cpu_leave, .-cpu_leave

/* void cpu_switch(void **from, void *to) */
        .globl  cpu_switch
        .hidden cpu_switch
        .type   cpu_switch, @function
        .p2align 4
cpu_switch:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r15, 0
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   cpu_switch, .-cpu_switch

/* void cpu_suspend(void **place, void *saved) */
        .globl  cpu_suspend
        .hidden cpu_suspend
        .type   cpu_suspend, @function
        .p2align 4
cpu_suspend:
        .cfi_startproc
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        movq    %rsp, (%rdi)
        movq    %rsi, %rdi
        jmp     cpu_leave
        .cfi_endproc
        .size   cpu_suspend, .-cpu_suspend

/* The entry point of fibers made by cpu_fiber_prepare: %r12 is the function, %rbx the argument. The outermost frame. */
        .globl  cpu_fiber_begin
        .hidden cpu_fiber_begin
        .type   cpu_fiber_begin, @function
        .p2align 4
cpu_fiber_begin:
        .cfi_startproc
        .cfi_undefined %rip
        movq    %rbx, %rdi
        callq   *%r12
        ud2
        .cfi_endproc
        .size   cpu_fiber_begin, .-cpu_fiber_begin

/* void cpu_call_on(void *top, void (*function)(void *), void *argument) */
        .globl  cpu_call_on
        .hidden cpu_call_on
        .type   cpu_call_on, @function
        .p2align 4
cpu_call_on:
        .cfi_startproc
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        movq    %rdi, %rsp
        movq    %rdx, %rdi
        callq   *%rsi
        movq    %rbp, %rsp
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   cpu_call_on, .-cpu_call_on

        .section .rodata
        .p2align 2
default_mxcsr:
        .long   0x1f80                  /* round to nearest, no traps, denormals kept */
default_control:
        .long   0x037f                  /* round to nearest, no traps, 64-bit mantissa */

#elif defined(__aarch64__)

        .text

        .globl  cpu_enter
        .hidden cpu_enter
        .type   cpu_enter, @function
        .p2align 4
cpu_enter:
        .cfi_startproc
        stp     x29, x30, [sp, #-176]!
        .cfi_def_cfa_offset 176
        .cfi_offset x29, -176
        .cfi_offset x30, -168
        mov     x29, sp
        .cfi_def_cfa_register x29       /* the function keeps x29: debuggers see through to the host's stack */
        stp     x19, x20, [sp, #16]
        .cfi_offset x19, -160
        .cfi_offset x20, -152
        stp     x21, x22, [sp, #32]
        .cfi_offset x21, -144
        .cfi_offset x22, -136
        stp     x23, x24, [sp, #48]
        .cfi_offset x23, -128
        .cfi_offset x24, -120
        stp     x25, x26, [sp, #64]
        .cfi_offset x25, -112
        .cfi_offset x26, -104
        stp     x27, x28, [sp, #80]
        .cfi_offset x27, -96
        .cfi_offset x28, -88
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mrs     x9, fpcr
        str     x9, [sp, #160]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        msr     fpcr, xzr               /* round to nearest, no traps, denormals kept */
        mov     x0, x3
        blr     x2
        mov     sp, x29
leave_here:
        .cfi_def_cfa sp, 176
        ldr     x9, [sp, #160]
        msr     fpcr, x9
        ldp     d14, d15, [sp, #144]
        ldp     d12, d13, [sp, #128]
        ldp     d10, d11, [sp, #112]
        ldp     d8, d9, [sp, #96]
        ldp     x27, x28, [sp, #80]
        ldp     x25, x26, [sp, #64]
        ldp     x23, x24, [sp, #48]
        ldp     x21, x22, [sp, #32]
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #176
        .cfi_def_cfa_offset 0
        ret
        .cfi_endproc
        .size   cpu_enter, .-cpu_enter

        .globl  cpu_leave
        .hidden cpu_leave
        .type   cpu_leave, @function
        .p2align 4
cpu_leave:
        .cfi_startproc
        .cfi_undefined x30
        mov     sp, x0
        b       leave_here
        .cfi_endproc
        .size   cpu_leave, .-cpu_leave

        .globl  cpu_switch
        .hidden cpu_switch
        .type   cpu_switch, @function
        .p2align 4
cpu_switch:
        .cfi_startproc
        stp     x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        ldp     d14, d15, [sp, #144]
        ldp     d12, d13, [sp, #128]
        ldp     d10, d11, [sp, #112]
        ldp     d8, d9, [sp, #96]
        ldp     x27, x28, [sp, #80]
        ldp     x25, x26, [sp, #64]
        ldp     x23, x24, [sp, #48]
        ldp     x21, x22, [sp, #32]
        ldp     x19, x20, [sp, #16]
        ldp     x29, x30, [sp], #160
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   cpu_switch, .-cpu_switch

/* void cpu_suspend(void **place, void *saved) */
        .globl  cpu_suspend
        .hidden cpu_suspend
        .type   cpu_suspend, @function
        .p2align 4
cpu_suspend:
        .cfi_startproc
        stp     x29, x30, [sp, #-160]!
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -160
        .cfi_offset x30, -152
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mov     x0, x1
        b       cpu_leave
        .cfi_endproc
        .size   cpu_suspend, .-cpu_suspend

/* x20 is the fiber's function, x19 the argument. */
        .globl  cpu_fiber_begin
        .hidden cpu_fiber_begin
        .type   cpu_fiber_begin, @function
        .p2align 4
cpu_fiber_begin:
        .cfi_startproc
        .cfi_undefined x30
        mov     x0, x19
        blr     x20
        brk     #1
        .cfi_endproc
        .size   cpu_fiber_begin, .-cpu_fiber_begin

        .globl  cpu_call_on
        .hidden cpu_call_on
        .type   cpu_call_on, @function
        .p2align 4
cpu_call_on:
        .cfi_startproc
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        mov     sp, x0
        mov     x0, x2
        blr     x1
        mov     sp, x29
        .cfi_def_cfa sp, 16
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   cpu_call_on, .-cpu_call_on

#else
#error "moonwarp's CPU driver can switch stacks on x86-64 and AArch64 only"
#endif

        .section .note.GNU-stack, "", %progbits
